import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../support/processes/command-run';

/** What cli/commands/document-commands.ts sends, and when. */

interface Sent {
  key: string;
  fingerprint: string;
}

let folder: string;
let asked: string[];
let sent: Sent[];
let known: object[];
let isBusy: (sent: Sent) => boolean;

const field = (form: string, name: string): string =>
  new RegExp(`name="${name}"\r\n\r\n([^\r]*)`).exec(form)?.[1] ?? '';

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { method, url = '' } = request;
    response.setHeader('content-type', 'application/json');
    const answer = (data: unknown): void => void response.end(JSON.stringify({ status: 'success', data, error: null }));
    if (method === 'POST') {
      const form = Buffer.concat(parts).toString('latin1');
      const one = { key: field(form, 'document_key'), fingerprint: field(form, 'fingerprint') };
      asked.push(`POST ${one.key}`);
      if (isBusy(one)) {
        const error = { code: 429, message: 'server busy' };
        response.statusCode = 429;
        response.setHeader('retry-after', '0').end(JSON.stringify({ status: 'error', data: null, error }));
        return;
      }
      sent.push(one);
      answer({ job_id: `document-${one.key}`, document_id: '', state: 'queued', error: null, result: null });
    } else if (url.includes('/jobs/')) {
      asked.push(`GET ${url.slice('/v1/jobs/document-'.length)}`);
      answer({ id: url, state: 'done', error: null });
    } else answer({ documents: known, next_cursor: null });
  });
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-documents-'));
  asked = [];
  sent = [];
  known = [];
  isBusy = () => false;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(...names: string[]): string {
  const path = join(folder, ...names);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `The text of ${names.join(' ')}.`);
  return path;
}

const add = (...words: string[]) =>
  runCommand(['documents', 'add', ...words, '--into', 'c'], {
    QUIVER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    QUIVER_API_KEY: 'x',
  });

test('two files that would be one document are refused before anything is sent', async () => {
  const { exitCode, messages } = await add(file('a', 'read.md'), file('b', 'read.md'));
  expect(exitCode).not.toBe(0);
  expect(messages).toContain('would both be the document read.md');
  expect(sent).toEqual([]);
  // A folder that has both tells them apart.
  expect((await add(folder)).exitCode).toBe(0);
  expect(sent.map(({ key }) => key)).toEqual(['a/read.md', 'b/read.md']);
});

test('what is there with the same content and options is passed over, and what has others is not', async () => {
  const path = file('read.md');
  await add(path, '--metadata', '{"team": "law"}', '--size', '200');
  const [{ fingerprint }] = sent;
  expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
  known = [{ document_key: 'read.md', fingerprint }];
  const same = await add(path, '--metadata', '{"team": "law"}', '--size', '200');
  expect(same.output).toContain('0 added, 1 unchanged');
  expect(sent).toHaveLength(1);
  for (const other of [
    [],
    ['--metadata', '{"team": "tax"}', '--size', '200'],
    ['--metadata', '{"team": "law"}', '--size', '300'],
    ['--metadata', '{"team": "law"}', '--size', '200', '--strategy', 'headings'],
    ['--metadata', '{"team": "law"}', '--size', '200', '--tokens'],
  ])
    expect((await add(path, ...other)).output).toContain('1 added, 0 unchanged');
  writeFileSync(path, 'Another text.');
  expect((await add(path, '--metadata', '{"team": "law"}', '--size', '200')).output).toContain('1 added');
  expect(new Set(sent.map((one) => one.fingerprint)).size).toBe(7);
});

test('a service that is busy gets a file again once one of before is stored', async () => {
  file('1.md');
  file('2.md');
  // Until it was looked what became of the first one.
  isBusy = ({ key }) => key === '2.md' && !asked.includes('GET 1.md');
  const { exitCode, output } = await add(folder);
  expect([exitCode, output]).toEqual([0, expect.stringContaining('2 added')]);
  expect(asked.slice(asked.indexOf('GET 1.md'))).toEqual(['GET 1.md', 'POST 2.md', 'GET 2.md']);
});
