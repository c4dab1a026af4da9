import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddOptions, DocumentAdding } from '../../../../cli/documents/adding';
import type { FoundDocument } from '../../../../cli/documents/folder-documents';
import { EXIT_CODES } from '../../../../cli/command-error';
import { QuiverClient } from '../../../../clients/typescript/src/index';
import { eventually } from '../../../support/eventually';
import { PlainDocuments } from '../../../support/servers/plain-documents';

/** What is sent of files, and what is made of the answers, whatever the service has gone through before. */

let folder: string;
let service: PlainDocuments;
let waits: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-adding-'));
  service = await new PlainDocuments().start();
  waits = [];
});
afterEach(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

function file(key: string, text = `The text of ${key}.`): FoundDocument {
  const path = join(folder, key);
  writeFileSync(path, text);
  return { path, key, origin: 'a'.repeat(16) };
}

function adding(more: Partial<AddOptions> = {}): DocumentAdding {
  return new DocumentAdding(new QuiverClient({ url: service.url, apiKey: 'x' }), {
    collection: service.name,
    document: {},
    again: false,
    patienceMs: 60_000,
    signal: new AbortController().signal,
    onOver: () => undefined,
    onWait: (reason) => void waits.push(reason),
    ...more,
  });
}

async function added(files: FoundDocument[], more: Partial<AddOptions> = {}) {
  const run = adding(more);
  await run.run(files);
  const { added: count, unchanged, failed, under_way: underWay, left, replaced } = run.report;
  expect([underWay, left]).toEqual([0, 0]);
  return { added: count, unchanged, failed, replaced };
}

const NOTHING = { added: 0, unchanged: 0, failed: [], replaced: [] };
const textsSent = (): string[] => service.sent.map(({ text }) => text);

test('many files need a request each, and a few besides', async () => {
  const files = Array.from({ length: 700 }, (_, i) => file(`${String(i).padStart(3, '0')}.md`));
  expect(await added(files)).toEqual({ ...NOTHING, added: 700 });
  expect(service.sent).toHaveLength(700);
  expect(service.asked.filter((asked) => !asked.startsWith('POST')).length).toBeLessThan(60);
  service.asked.length = 0;
  expect(await added(files)).toEqual({ ...NOTHING, unchanged: 700 });
  expect(service.asked.length).toBeLessThan(10);
});

test('an addition whose answer is lost is repeated, and is one job', async () => {
  const files = ['a.md', 'b.md', 'c.md'].map((key) => file(key));
  service.mishap = (asked, count) => (asked === 'POST b.md' && count === 1 ? 'lost' : undefined);
  expect(await added(files)).toEqual({ ...NOTHING, added: 3 });
  expect(service.asked.filter((asked) => asked === 'POST b.md')).toHaveLength(2);
  expect(service.sent.map((sent) => sent.document_key)).toEqual(['a.md', 'b.md', 'c.md']);
});

test('busy and absent services are waited for, in additions, pages and looks', async () => {
  const troubles = [{ code: 429, retryAfter: 0 }, 'cut', { code: 500, message: 'starting' }] as const;
  let met = 0;
  service.mishap = (_asked, count) => (count === 1 ? troubles[met++ % troubles.length] : undefined);
  expect(await added([file('a.md'), file('b.md')])).toEqual({ ...NOTHING, added: 2 });
  expect(waits).toContain('server busy');
  expect(service.sent).toHaveLength(2);
});

test('a service that has no room gets a file again once one of before is stored', async () => {
  const files = ['1.md', '2.md'].map((key) => file(key));
  service.endsAtOnce = false;
  service.mishap = (asked, count) => {
    // It has room once it was looked what became of the first one, which a patient caller does.
    if (asked === 'GET /v1/jobs' && service.jobs.length > 0) service.store(service.jobs[0]);
    return asked === 'POST 2.md' && service.documents.size === 0 && count < 9 ? { code: 429 } : undefined;
  };
  expect(await added(files)).toEqual({ ...NOTHING, added: 2 });
});

test('patience ends, and what is left is told', async () => {
  service.mishap = (asked) => (asked === 'POST b.md' ? 'cut' : undefined);
  service.endsAtOnce = false;
  const run = adding({ patienceMs: 5 });
  await expect(run.run(['a.md', 'b.md', 'c.md'].map((key) => file(key)))).rejects.toMatchObject({
    message: expect.stringMatching(/tried for 0 s \(--retry-for\)/),
    exitCode: EXIT_CODES.unreachable,
  });
  expect(run.report).toMatchObject({ added: 0, under_way: 1, left: 2 });
});

test('a signal ends it at once, and says what the service has', async () => {
  service.endsAtOnce = false;
  const stop = new AbortController();
  const run = adding({ signal: stop.signal });
  const running = run.run(['a.md', 'b.md'].map((key) => file(key)));
  await eventually(
    'both are sent and looked at',
    () => service.asked.filter((one) => one === 'GET /v1/jobs').length > 3,
  );
  stop.abort(new Error('enough'));
  await expect(running).rejects.toThrow();
  expect(run.report).toMatchObject({ added: 0, under_way: 2, left: 0 });
});

test('jobs of a command before are waited for, and sent again only if they come to something else', async () => {
  const [a, b, c] = ['a.md', 'b.md', 'c.md'].map((key) => file(key));
  await added([a, b, c]);
  const marks = new Map(service.sent.map((sent) => [sent.document_key, sent]));
  service.documents.clear();
  for (const key of ['a.md', 'b.md', 'b.md']) service.begin(marks.get(key)!, key === 'a.md' ? 'queued' : 'running');
  service.begin({ document_key: 'c.md', fingerprint: 'another', text: '' });
  service.begin({ document_key: 'other.md', fingerprint: 'of nobody here', text: '' });
  service.endsAtOnce = false;
  service.sent.length = 0;
  const running = added([a, b, c]);
  await eventually('it waits', () => service.asked.filter((one) => one === 'GET /v1/jobs').length > 5);
  expect(service.sent).toEqual([]);
  for (const job of service.jobs) if (job.document_key !== 'other.md' && job.state !== 'done') service.store(job);
  service.endsAtOnce = true;
  expect(await running).toEqual({ ...NOTHING, added: 3 });
  expect(service.sent.map((sent) => sent.document_key)).toEqual(['c.md']);
});

test('an unchanged file is not passed over while another version of it waits', async () => {
  const a = file('a.md', 'One.');
  await added([a]);
  const [{ fingerprint }] = service.sent;
  const other = service.begin({ document_key: 'a.md', fingerprint: 'another', text: 'Two.' });
  service.endsAtOnce = false;
  const running = added([a]);
  await eventually('it waits', () => service.asked.filter((one) => one === 'GET /v1/jobs').length > 8);
  service.store(other);
  service.endsAtOnce = true;
  expect(await running).toEqual({ ...NOTHING, added: 1 });
  expect(service.documents.get('a.md')?.fingerprint).toBe(fingerprint);
  // Nobody knows when that goes on.
  service.begin({ document_key: 'a.md', fingerprint: 'another', text: 'Two.' }, 'paused');
  expect(await added([a])).toEqual({ ...NOTHING, added: 1 });
  expect(textsSent()).toEqual(['One.', 'One.', 'One.']);
});

test('a file that comes back to what it was is stored again', async () => {
  for (const text of ['One.', 'Two.', 'One.', 'Two.'])
    expect(await added([file('a.md', text)])).toEqual({ ...NOTHING, added: 1 });
  expect(textsSent()).toEqual(['One.', 'Two.', 'One.', 'Two.']);
});

test('what was deleted since, with its collection or alone, is stored again', async () => {
  const a = file('a.md');
  await added([a]);
  service.documents.clear();
  expect(await added([a])).toEqual({ ...NOTHING, added: 1 });
  expect(service.documents.has('a.md')).toBe(true);
  service.documents.clear();
  service.created = '2026-02-02T00:00:00.000Z';
  expect(await added([a])).toEqual({ ...NOTHING, added: 1 });
  expect(service.sent).toHaveLength(3);
});

test('a job that is forgotten is known by its document; without one, the file is sent again', async () => {
  const files = ['a.md', 'b.md'].map((key) => file(key));
  service.endsAtOnce = false;
  let isForgotten = false;
  service.mishap = (asked) => {
    if (asked !== 'GET /v1/jobs' || service.jobs.length < 2 || isForgotten) return undefined;
    isForgotten = true;
    const [b, a] = service.jobs;
    service.store(a);
    service.forget(a);
    service.forget(b);
    service.endsAtOnce = true;
    return undefined;
  };
  expect(await added(files)).toEqual({ ...NOTHING, added: 2 });
  expect(service.sent.map((sent) => sent.document_key)).toEqual(['a.md', 'b.md', 'b.md']);
});

test('what becomes of jobs is told by file', async () => {
  const files = ['a.md', 'b.md', 'c.md', 'd.md'].map((key) => file(key));
  service.endsAtOnce = false;
  service.mishap = (asked) => {
    if (asked !== 'GET /v1/jobs' || service.jobs.length < 4) return undefined;
    const [d, c, b, a] = service.jobs;
    service.store(a);
    Object.assign(b, { state: 'failed', error: 'it is encrypted' });
    Object.assign(c, { state: 'cancelled' });
    Object.assign(d, { state: 'paused' });
    return undefined;
  };
  const { added: count, failed } = await added(files);
  expect(count).toBe(1);
  expect(failed).toEqual([
    { file: files[3].path, error: expect.stringContaining('quiver jobs resume document-3') },
    { file: files[2].path, error: 'its job was cancelled' },
    { file: files[1].path, error: 'it is encrypted' },
  ]);
});

test('a file that is refused, gone or empty fails alone; what is wrong of options ends all', async () => {
  const [a, b, c] = [file('a.md'), file('b.md', ''), file('c.md')];
  const gone = { ...file('d.md'), path: join(folder, 'nothing') };
  service.mishap = (asked) => (asked === 'POST a.md' ? { code: 400, message: 'This is a workbook' } : undefined);
  expect(await added([a, b, c, gone])).toEqual({
    ...NOTHING,
    added: 1,
    failed: [
      { file: a.path, error: 'This is a workbook' },
      { file: b.path, error: 'it is empty' },
      { file: gone.path, error: expect.stringContaining('no such file') },
    ],
  });
  service.mishap = (asked) =>
    asked.startsWith('POST') ? { code: 400, message: 'metadata may not have page' } : undefined;
  const run = adding({ again: true });
  await expect(run.run([a, c])).rejects.toThrow('metadata may not have page');
  expect(run.report).toMatchObject({ failed: [], left: 2 });
});

test('with "again" all are sent, and options are part of what is compared', async () => {
  const a = file('a.md');
  await added([a]);
  expect(await added([a], { again: true })).toEqual({ ...NOTHING, added: 1 });
  expect(await added([a], { again: true })).toEqual({ ...NOTHING, added: 1 });
  expect(await added([a], { document: { chunking: { size: 100 } } })).toEqual({ ...NOTHING, added: 1 });
  expect(await added([a], { document: { chunking: { size: 100 } } })).toEqual({ ...NOTHING, unchanged: 1 });
  expect(service.sent).toHaveLength(4);
});

test('an alias is the collection that it names, and a collection that is not there is told before anything is sent', async () => {
  const a = file('a.md');
  const job = service.begin({ document_key: 'a.md', fingerprint: 'another', text: '' });
  expect(await added([a], { collection: service.alias })).toEqual({ ...NOTHING, added: 1 });
  expect(job.state).toBe('done');
  service.asked.length = 0;
  await expect(added([a], { collection: 'nothing-here' })).rejects.toMatchObject({ code: 404 });
  expect(service.asked).toEqual(['GET /v1/collections/nothing-here']);
});

test('what replaces a document of another folder is told; the same content of another one is unchanged', async () => {
  const one = file('read.md', 'One.');
  await added([one]);
  const other = { ...one, origin: 'b'.repeat(16) };
  expect(await added([other])).toEqual({ ...NOTHING, unchanged: 1 });
  writeFileSync(one.path, 'Two.');
  expect(await added([other])).toEqual({ ...NOTHING, added: 1, replaced: ['read.md'] });
  writeFileSync(one.path, 'Three.');
  expect(await added([other])).toEqual({ ...NOTHING, added: 1 });
});

test('what the service itself waits for is said once', async () => {
  service.endsAtOnce = false;
  let looks = 0;
  service.mishap = (asked) => {
    if (asked !== 'GET /v1/jobs' || service.jobs.length === 0) return undefined;
    looks += 1;
    if (looks < 3) service.jobs[0].waits_for = 'the model answers again';
    else service.store(service.jobs[0]);
    return undefined;
  };
  expect(await added([file('a.md')])).toEqual({ ...NOTHING, added: 1 });
  expect(waits).toEqual(['the model answers again']);
});
