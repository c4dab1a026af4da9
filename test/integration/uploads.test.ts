import { existsSync, readFileSync } from 'node:fs';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { UploadInProgress } from '../support/http/upload-in-progress';

/** Long documents while they are under way, on a real process. */

const MIB = 1024 * 1024;
const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2', MAX_UPLOAD_BYTES: String(512 * MIB) } });
const target = () => ({ baseUrl: server.baseUrl, adminKey: server.apiKey });
const countOf = async (name: string): Promise<number> =>
  (await server.data('GET', `/v1/collections/${name}`)).vector_count;
const sentences = (bytes: number): string =>
  'The river floods every spring, and farmers wait. '.repeat(Math.ceil(bytes / 49)).slice(0, bytes);

beforeAll(() => server.start());
afterAll(() => server.destroy());

async function collectionWithOneItem(name: string): Promise<void> {
  await server.data('POST', '/v1/collections', { name, dim: 16, shards: 2 });
  await server.data('POST', `/v1/collections/${name}/upsert`, { external_id: 'kept', text: 'kept' });
}

/** Begins a document of 2 MiB, sends half of it, and waits until some of that is stored. */
async function halfWay(name: string): Promise<UploadInProgress> {
  const upload = await UploadInProgress.begin(target(), { collection: name, fileBytes: 2 * MIB });
  await upload.send(sentences(MIB));
  await eventually('a part of the document is stored', async () => (await countOf(name)) > 500);
  return upload;
}

test('a document is stored while it arrives, and whole at the end', async () => {
  await collectionWithOneItem('arriving');
  const upload = await halfWay('arriving');
  await upload.send(sentences(MIB));
  const { data, error } = await upload.finish();
  expect(error).toBeNull();
  expect(await countOf('arriving')).toBe(1 + data.chunks_created);
  expect(
    await server.data('POST', '/v1/collections/arriving/delete_by_filter', {
      filters: { document_id: data.document_id },
    }),
  ).toEqual({ deleted_count: data.chunks_created });
  expect(await countOf('arriving')).toBe(1);
});

test('of a client that goes away in the middle nothing stays', async () => {
  await collectionWithOneItem('abandoned');
  const upload = await halfWay('abandoned');
  upload.abandon();
  await eventually('the document is taken back', async () => (await countOf('abandoned')) === 1);
});

test('a form that turns out wrong after its file leaves nothing', async () => {
  await collectionWithOneItem('wrong');
  const upload = await halfWay('wrong');
  const part =
    '\r\n--a-boundary-that-is-not-in-the-parts\r\nContent-Disposition: form-data; name="include_timing"\r\n\r\nperhaps';
  // Within the length that was announced.
  await upload.send(sentences(MIB - part.length) + part);
  const { error } = await upload.finish();
  expect(error).toEqual({ code: 422, message: expect.stringContaining('include_timing') });
  expect(await countOf('wrong')).toBe(1);
});

test('of an upload that kill -9 cut short nothing is there after the start', async () => {
  await collectionWithOneItem('killed');
  const upload = await halfWay('killed');
  await server.kill();
  upload.abandon();
  await server.start();
  expect(await countOf('killed')).toBe(1);
});

/** The most memory that a process ever held, in bytes; null where the system does not tell. */
function peakMemory(pid: number): number | null {
  const path = `/proc/${pid}/status`;
  const line = existsSync(path) ? /VmHWM:\s+(\d+) kB/.exec(readFileSync(path, 'utf8')) : null;
  return line === null ? null : Number(line[1]) * 1024;
}

const memoryTest = peakMemory(process.pid) === null ? test.skip : test;

memoryTest.each([true, false])(
  'a file much larger than the memory it may take is read (its collection named before it: %s)',
  async (fieldFirst) => {
    const name = `large-${fieldFirst}`;
    await collectionWithOneItem(name);
    // A few words in 120 MiB of white space: what is stored takes no room, so what is measured is what is held of the
    // file.
    const blank = Buffer.alloc(MIB, ' ');
    const send = async (pieces: number): Promise<{ chunks_created: number }> => {
      const upload = await UploadInProgress.begin(target(), {
        collection: name,
        fileBytes: pieces * MIB + 10,
        fieldFirst,
      });
      await upload.send('begin');
      for (let i = 0; i < pieces; i++) await upload.send(blank);
      await upload.send('ended');
      const { data, error } = await upload.finish();
      expect(error).toBeNull();
      return data;
    };
    // What any upload costs, and code that is compiled.
    await send(20);
    const before = peakMemory(server.pid) as number;
    expect(await send(120)).toMatchObject({ chunks_created: 2 });
    expect((peakMemory(server.pid) as number) - before).toBeLessThan(60 * MIB);
  },
);
