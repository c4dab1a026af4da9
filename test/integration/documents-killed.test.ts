import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess, type Envelope } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';

/** A document that is replaced while its process is killed: no chunk is lost, none is there twice. */

const random = seededRandom(runSeed('documents beside kills'));
const WORDS = 4_000;
const CHUNKING = { size: 80, overlap: 20 };

/** Many sentences, of which most are in the version before, too. */
function textOf(version: number): string {
  const sentence = (i: number): string => {
    const of = i % 7 === version % 7 ? version : 0;
    return `Sentence ${i} of the manual says ${of} and no more than that.`;
  };
  return Array.from({ length: WORDS / 10 }, (_, i) => sentence(i)).join(' ');
}

/** A call whose errors are thrown. */
type Data = (method: string, path: string, body?: unknown) => Promise<any>;

/** Calls until the service is not too busy. */
function patient(send: (...call: Parameters<Data>) => Promise<Envelope>): Data {
  return async (method, path, body) => {
    for (;;) {
      const { data, error } = await send(method, path, body);
      if (error === null) return data;
      if (error.code !== 429) throw new Error(`${method} ${path}: ${error.message}`);
      await new Promise((next) => setTimeout(next, 50));
    }
  };
}

interface Chunk {
  external_id: string;
  text: string;
  metadata: { document_id: string; chunk_index: number; start: number; end: number };
}

async function chunksOf(data: Data, collection: string): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  let cursor: string | null = null;
  do {
    const page: any = await data('POST', `/v1/collections/${collection}/scroll`, { limit: 1_000, cursor });
    chunks.push(...page.vectors);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return chunks;
}

/** Chunks between which no document was stored: a scroll reads a shard several times. */
async function seenAtOnce(data: Data, collection: string): Promise<Chunk[]> {
  const documents = async (): Promise<string> =>
    JSON.stringify(await data('GET', `/v1/collections/${collection}/documents`));
  for (let before = await documents(); ;) {
    const chunks = await chunksOf(data, collection);
    const after = await documents();
    if (after === before) return chunks;
    before = after;
  }
}

/** Every character of the text is in some chunk, in order, and nothing else is there. */
function mustBeWhole(chunks: Chunk[], text: string, documentId: string): void {
  const inOrder = [...chunks].sort((a, b) => a.metadata.chunk_index - b.metadata.chunk_index);
  expect(inOrder.map(({ metadata }) => metadata.chunk_index)).toEqual(inOrder.map((_, i) => i));
  expect(new Set(chunks.map(({ external_id: id }) => id)).size).toBe(chunks.length);
  let end = 0;
  for (const { text: part, metadata } of inOrder) {
    expect(metadata.document_id).toBe(documentId);
    expect(part).toBe(text.slice(metadata.start, metadata.end));
    expect(text.slice(end, metadata.start).trim()).toBe('');
    end = metadata.end;
  }
  expect(end).toBe(text.length);
}

/** When the process is killed, by what is seen of the job. */
const POINTS: [string, (job: any) => boolean][] = [
  ['once the answer is there', () => true],
  ['while it is parsed', ({ state }) => state !== 'queued'],
  ['while texts are embedded', ({ done, state }) => done > 0 || state === 'done'],
  ['while it is stored', ({ step, state }) => step === 'storing' || state === 'done'],
  ['once it is done', ({ state }) => state === 'done'],
];

test.each([1, 2])('a process that is killed at any point ends what it began, over %d shards', async (shards) => {
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: String(shards) } });
  const data = patient((method, path, body) => server.call(method, path, body));
  try {
    await server.start();
    await data('POST', '/v1/collections', { name: 'c', dim: 32, shards });
    let before = '';
    for (const [version, [point, isReached]] of POINTS.entries()) {
      const text = textOf(version);
      const body = { collection_name: 'c', document_key: 'manual', text, chunking: CHUNKING };
      const { job_id: id, document_id: documentId } = await data('POST', '/v1/documents', body);
      // The look that sees it is some time ago when the process ends.
      for (let job: any = {}; !isReached(job) || job.id === undefined;) job = await data('GET', `/v1/jobs/${id}`);
      if (random() < 0.5) await new Promise((next) => setImmediate(next));
      await server.kill();
      await server.start();
      const seen = await seenAtOnce(data, 'c');
      const isNew = seen.some(({ text: part, metadata }) => part !== before.slice(metadata.start, metadata.end));
      if (seen.length > 0) mustBeWhole(seen, isNew ? text : before, documentId);
      await eventually(`the document killed ${point} is stored`, async () => {
        const job = await data('GET', `/v1/jobs/${id}`);
        expect(['failed', 'cancelled']).not.toContain(job.state);
        return job.state === 'done';
      });
      mustBeWhole(await chunksOf(data, 'c'), text, documentId);
      const { documents } = await data('GET', '/v1/collections/c/documents');
      expect(documents).toMatchObject([{ document_key: 'manual', chunks: (await chunksOf(data, 'c')).length }]);
      before = text;
    }
    // The same again embeds nothing.
    const again = { collection_name: 'c', document_key: 'manual', text: before, chunking: CHUNKING, wait: true };
    expect(await data('POST', '/v1/documents', again)).toMatchObject({
      state: 'done',
      result: { outcome: 'replaced', embedded: 0 },
    });
  } finally {
    await server.destroy();
  }
});

test('a cluster ends a document though its controller and nodes are killed meanwhile', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 2, shards: 2, replicas: 3 });
  try {
    const call = patient((method, path, body) => cluster.call(method, path, body, 1));
    await call('POST', '/v1/collections', { name: 'c', dim: 32, shards: 2, replicas: 3 });
    const members = [cluster.coordinators[0], cluster.nodes[0], cluster.coordinators[0], cluster.nodes[1]];
    for (const [version, member] of members.entries()) {
      const text = textOf(version);
      const body = { collection_name: 'c', document_key: 'manual', text, chunking: CHUNKING };
      let added: any = null;
      await eventually('the document is taken', async () => {
        added = await call('POST', '/v1/documents', body).catch(() => null);
        return added !== null;
      });
      if (version > 1)
        await eventually('it is under way', async () => {
          const job = await call('GET', `/v1/jobs/${added.job_id}`).catch(() => null);
          return job?.done > 0 || job?.state === 'done';
        });
      await member.kill();
      await eventually('the document is stored', async () => {
        const job = await call('GET', `/v1/jobs/${added.job_id}`).catch(() => null);
        expect(['failed', 'cancelled']).not.toContain(job?.state);
        return job?.state === 'done';
      });
      await member.start();
      await cluster.settled();
      mustBeWhole(await chunksOf(call, 'c'), text, added.document_id);
    }
    await cluster.inSync();
    expect(await cluster.differences()).toEqual([]);
  } finally {
    await cluster.destroy();
  }
});
