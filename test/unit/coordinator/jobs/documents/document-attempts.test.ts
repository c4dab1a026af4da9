import { DocumentKind, type DocumentInput } from '../../../../../coordinator/jobs/documents/document-kind';
import type { JobProgress, RunningJob } from '../../../../../coordinator/jobs/record/job-kind';
import { type JobRecord, newJobRecord } from '../../../../../coordinator/jobs/record/job-record';
import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import type { ParsedDocument } from '../../../../../coordinator/service/documents/formats/parsed-document';
import type { ItemExchange } from '../../../../../coordinator/service/service';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';

/** What a document may take of the process that works on it, and what becomes of one that ends of it. */

type Parts = ConstructorParameters<typeof DocumentKind>[0];

const COLLECTION = { name: 'c', identity: 'i', dim: 4 } as CollectionRecord;
const INPUT: DocumentInput = {
  identity: 'i',
  documentId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  key: null,
  file: { id: 'document-1', name: 'a.txt', type: 'txt', bytes: 5, sha256: '' },
  metadata: '{}',
  chunking: { strategy: 'fixed', size: 16, overlap: 8, unit: 'characters' },
  onExists: 'replace',
  expiresAt: null,
  textInMetadata: false,
  generation: 1,
};

let measured: number;
let stored: ItemExchange[];

beforeEach(() => {
  measured = 0;
  stored = [];
});

function kindOf({
  dim = COLLECTION.dim,
  parse = async () => parsed('Some text.'),
  embed = async (texts) => ({ vectors: texts.map(() => new Float32Array(dim)), unsettled: null, cut: [] }),
}: {
  dim?: number;
  parse?: Parts['parser']['parse'];
  embed?: (texts: string[]) => ReturnType<Parts['embedder']['embedPassages']>;
} = {}): DocumentKind {
  const unused = (): never => {
    throw new Error('not used');
  };
  return new DocumentKind({
    files: {
      bytesMax: 1,
      put: unused,
      list: unused,
      find: async () => ({ bytes: Buffer.from('') }),
      delete: async () => undefined,
    },
    parser: { parse },
    stored: {
      first: async () => null,
      chunks: async () => [],
      strays: async () => [],
      exchange: async (_collection, change) => void stored.push(change),
    },
    catalog: { find: async () => ({ ...COLLECTION, dim }), read: unused },
    embedder: {
      measure: async (_collection, texts) => {
        measured += texts.length;
        return null;
      },
      embedPassages: (_collection, texts) => embed(texts),
      settle: unused,
    },
    metadataBytesMax: 64 * 1024,
    clock: systemClock,
  });
}

function parsed(text: string): ParsedDocument {
  return { type: 'txt', text, pages: [], headings: [] };
}

/** A job that stores what it is told. */
function running(
  input: DocumentInput,
  { record, foundState = 'queued' }: { record?: JobRecord; foundState?: JobRecord['state'] } = {},
): RunningJob & { record: JobRecord } {
  const job = {
    record: record ?? newJobRecord({ id: 'document-1', kind: 'document', collection: 'c', input } as JobRecord, 0),
    foundState,
    report(progress: JobProgress): void {
      job.record = { ...job.record, ...progress };
    },
    async note(progress: JobProgress): Promise<void> {
      job.report(progress);
    },
  };
  return job;
}

const never = (): AbortSignal => new AbortController().signal;
const hanging = (): Promise<never> => new Promise(() => undefined);

test('chunks that one write can’t hold are refused while they are cut', async () => {
  const text = parsed('word '.repeat(100_000));
  const metadata = JSON.stringify({ text: 'x'.repeat(16 * 1024) });
  const job = running({ ...INPUT, metadata });
  await expect(kindOf({ parse: async () => text }).run(job, never())).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(/more than 8\d{3} chunks.*ask for larger chunks/),
  });
  // Of some 60,000.
  expect(measured).toBeLessThan(9_000);
});

test('vectors count, and the bytes of texts, not their characters', async () => {
  const kind = kindOf({ dim: 64 * 1024, parse: async () => parsed('word '.repeat(2_000)) });
  await expect(kind.run(running(INPUT), never())).rejects.toMatchObject({ kind: 'limit_exceeded' });
  const chunking = { ...INPUT.chunking, size: 1_000_000, overlap: 0 };
  const long = kindOf({ parse: async () => parsed('文'.repeat(50_000_000)) });
  await expect(long.run(running({ ...INPUT, chunking }), never())).rejects.toMatchObject({ kind: 'limit_exceeded' });
  expect(stored).toEqual([]);
});

test('the fields of rows count, too', async () => {
  const rows = Array.from({ length: 5_000 }, (_, i) => ({
    start: 5 * i,
    end: 5 * i + 5,
    fields: { x: 'y'.repeat(30_000) },
  }));
  const table: ParsedDocument = { ...parsed('word '.repeat(rows.length)), type: 'csv', rows };
  await expect(kindOf({ parse: async () => table }).run(running(INPUT), never())).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('one write'),
  });
});

test('a job fails at which three processes ended', async () => {
  let record: JobRecord | undefined;
  for (let died = 0; died < 3; died += 1) {
    const job = running(INPUT, { record, foundState: died === 0 ? 'queued' : 'running' });
    let isReached = false;
    const kind = kindOf({
      parse: () => {
        isReached = true;
        return hanging();
      },
    });
    void kind.run(job, never());
    await eventually('it parses', async () => isReached);
    ({ record } = job);
  }
  await expect(kindOf().run(running(INPUT, { record, foundState: 'running' }), never())).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('3 processes ended'),
  });
  expect(stored).toEqual([]);
});

test('processes that stop of themselves, are paused, or wait for the model do not count', async () => {
  let record: JobRecord | undefined;
  const away = async (): Promise<never> => {
    throw new Error('away');
  };
  for (let i = 0; i < 5; i += 1) {
    const failed = running(INPUT, { record, foundState: 'running' });
    await expect(kindOf({ parse: away }).run(failed, never())).rejects.toThrow('away');
    const paused = running(INPUT, { record: failed.record, foundState: 'running' });
    let isReached = false;
    const reached = (): Promise<never> => {
      isReached = true;
      return hanging();
    };
    void kindOf({ parse: reached }).run(paused, never());
    await eventually('it parses', async () => isReached);
    isReached = false;
    const embedding = running(INPUT, { record: paused.record, foundState: 'queued' });
    void kindOf({ embed: reached }).run(embedding, never());
    await eventually('it embeds', async () => isReached);
    ({ record } = embedding);
  }
  const last = running(INPUT, { record, foundState: 'running' });
  expect(await kindOf().run(last, never())).toMatchObject({ outcome: 'inserted' });
  expect(stored).toHaveLength(1);
});
