import { randomUUID } from 'node:crypto';
import { DocumentKind, type DocumentInput } from '../../../../../coordinator/jobs/documents/document-kind';
import type { JobProgress, RunningJob } from '../../../../../coordinator/jobs/record/job-kind';
import { type JobRecord, newJobRecord } from '../../../../../coordinator/jobs/record/job-record';
import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import type { ParsedDocument } from '../../../../../coordinator/service/documents/formats/parsed-document';
import type { ItemExchange } from '../../../../../coordinator/service/service';
import { TextFailure } from '../../../../../coordinator/models/transformers/model-failure';
import { type ErrorKind, QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Clock, systemClock } from '../../../../../shared/base/time/clock';
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
  exchange = async (change) => void stored.push(change),
  revoke = () => Promise.reject(new Error('not used')),
  clock = systemClock,
  worker = randomUUID(),
  isAlive = () => false,
  embeddingModel = null,
  measure = async () => null,
  known = async () => [],
  strays = async () => [],
  presentWriter = async (then) => then,
}: {
  measure?: (texts: string[]) => ReturnType<Parts['embedder']['measure']>;
  known?: Parts['stored']['chunks'];
  strays?: Parts['stored']['strays'];
  presentWriter?: Parts['presentWriter'];
  revoke?: Parts['stored']['revoke'];
  clock?: Clock;
  worker?: string;
  isAlive?: Parts['isAlive'];
  embeddingModel?: string | null;
  exchange?: (change: ItemExchange, writer: DocumentInput['writer']) => Promise<void>;
  dim?: number;
  parse?: Parts['parser']['parse'];
  embed?: (texts: string[]) => ReturnType<Parts['embedder']['embedPassages']>;
} = {}): DocumentKind {
  const unused = (): never => {
    throw new Error('not used');
  };
  return new DocumentKind({
    files: {
      bounds: { bytesMax: 1, writtenMax: null },
      left: unused,
      put: unused,
      list: unused,
      find: async () => ({ bytes: Buffer.from('') }),
      delete: async () => undefined,
    },
    room: { release: async () => undefined },
    parser: { parse },
    turns: { lastGeneration: async () => 1 },
    stored: {
      first: async () => null,
      chunks: known,
      strays,
      exchange: (_collection, change, writer) => exchange(change, writer),
      revoke,
    },
    catalog: { find: async () => ({ ...COLLECTION, dim, embeddingModel }), read: unused },
    embedder: {
      measure: async (_collection, texts) => {
        measured += texts.length;
        return measure(texts);
      },
      embedPassages: (_collection, texts) => embed(texts),
      settle: unused,
    },
    presentWriter,
    metadataBytesMax: 64 * 1024,
    metadataFieldsMax: 100,
    clock,
    worker,
    isAlive,
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

/** Vectors of texts, as a model without a fault makes them. */
const made = (texts: readonly string[], dim = 4) => ({
  vectors: texts.map(() => new Float32Array(dim)),
  unsettled: null,
  cut: [],
});
const words = (count: number): ParsedDocument => parsed(Array.from({ length: count }, (_, i) => `word${i}`).join(' '));
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

describe('chunks that are longer than the model reads', () => {
  // A token is a word, and the model reads four of them.
  const MOST = 4;
  const lengthOf = (text: string): number => text.split(' ').length;
  const measure: Parts['embedder']['measure'] = async (_collection, texts) => ({
    lengths: texts.map(lengthOf),
    most: MOST,
  });
  let asked: string[];
  const embed = async (texts: string[]) => {
    asked.push(...texts);
    const cut = texts.flatMap((text, index) =>
      lengthOf(text) > MOST
        ? [{ index, read: MOST, left: lengthOf(text) - MOST, unit: 'tokens' as const, isMore: false }]
        : [],
    );
    return { ...made(texts), cut };
  };
  const ran = async (text: string, more: Parameters<typeof kindOf>[0] = {}, size = 12) => {
    const input = { ...INPUT, chunking: { ...INPUT.chunking, strategy: 'sentences' as const, size, overlap: 0 } };
    const kind = kindOf({
      parse: async () => parsed(text),
      measure: (texts) => measure(COLLECTION, texts),
      embed,
      ...more,
    });
    const result = await kind.run(running(input), never());
    return { result, texts: stored.at(-1)!.puts.map((put) => put.text!) };
  };

  beforeEach(() => {
    asked = [];
  });

  test('are not looked for where there are none', async () => {
    const { texts } = await ran('Some words. Other words.');
    expect(texts).toEqual(['Some words.', 'Other words.']);
    expect([measured, asked]).toEqual([0, texts]);
  });

  test('are cut again where the model had to cut one, and only those that are new are embedded', async () => {
    const { texts, result } = await ran('Some words. A b c d e f.');
    expect(texts.every((text) => lengthOf(text) <= MOST)).toBe(true);
    expect(texts.join(' ')).toBe('Some words. A b c d e f.');
    expect(asked).toEqual(['Some words.', 'A b c d e f.', ...texts.slice(1)]);
    expect(result).toMatchObject({ chunks: texts.length, embedded: texts.length });
  });

  test('are measured before they are embedded where they have many bytes', async () => {
    const { texts } = await ran('A b c d e f g h i.', {}, 100);
    expect(texts.every((text) => lengthOf(text) <= MOST)).toBe(true);
    expect(asked).toEqual(texts);
  });

  test('are found though their texts are stored', async () => {
    const text = 'A b c d e f.';
    const before = { externalId: `000000-xxxxxxxx-${INPUT.documentId}`, text, metadata: '{}', version: 1 };
    const known = async () =>
      [{ ...before, vector: new Float32Array(4) }] as Awaited<ReturnType<Parts['stored']['chunks']>>;
    const { texts } = await ran(text, { known });
    expect(texts.every((one) => lengthOf(one) <= MOST)).toBe(true);
  });
});

test('what is at the ids of a new document’s chunks is looked for once its write met something', async () => {
  let looked = 0;
  let writes = 0;
  const kind = kindOf({
    strays: async () => {
      looked += 1;
      return [];
    },
    exchange: async (change) => {
      expect(looked).toBe(writes);
      writes += 1;
      if (writes === 1) throw new QuiverError('conflict', 'something is there');
      stored.push(change);
    },
  });
  expect(await kind.run(running(INPUT), never())).toMatchObject({ outcome: 'inserted' });
  expect([looked, writes, stored.length]).toEqual([1, 2, 1]);
});

test('the quota of its key counts as it is when the document is stored', async () => {
  const writer = { identity: 'key:7', quota: { items: 1, bytes: null, period: 'day' as const } };
  const raised = { ...writer, quota: { ...writer.quota, items: 100 } };
  const by: unknown[] = [];
  const kind = kindOf({ presentWriter: async () => raised, exchange: async (_change, of) => void by.push(of) });
  await kind.run(running({ ...INPUT, writer }), never());
  await kind.run(running(INPUT), never());
  expect(by).toEqual([raised, undefined]);
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

test('a job fails, too, at whose model so many processes end that it may be the reason', async () => {
  let record: JobRecord | undefined;
  let ended = 0;
  /** A process that ends while its model is asked. */
  const died = async (): Promise<void> => {
    const job = running(INPUT, { record, foundState: record === undefined ? 'queued' : 'running' });
    let isReached = false;
    const kind = kindOf({
      embed: () => {
        isReached = true;
        return hanging();
      },
    });
    let failure: unknown = null;
    kind.run(job, never()).catch((error: unknown) => (failure = error));
    await eventually('it embeds, or fails', async () => isReached || failure !== null);
    if (failure !== null) throw failure as Error;
    ({ record } = job);
  };
  const dying = async (): Promise<void> => {
    for (; ended < 100; ended += 1) await died();
  };
  await expect(dying()).rejects.toMatchObject({ kind: 'limit_exceeded' });
  // The last three were alone with it.
  expect(ended).toBe(13);
});

test('one at which a process ended runs alone, so the one is found that it ends of', async () => {
  const names = ['innocent', 'guilty', 'another'];
  const records = new Map<string, JobRecord>();
  const outcomes = new Map<string, unknown>();
  for (let died = 0; died < 6 && outcomes.size < names.length; died += 1) {
    // A process, which ends once the guilty one is parsed.
    let ends = (): void => undefined;
    const ended = new Promise<void>((resolve) => (ends = resolve));
    const begun = names.filter((name) => !outcomes.has(name));
    let parsing = 0;
    const kind = kindOf({
      parse: async ({ name }) => {
        parsing += 1;
        if (name !== 'guilty') return died === 0 ? hanging() : parsed('Some text.');
        await eventually('all that may come are there', async () => died > 0 || parsing === names.length);
        ends();
        return hanging();
      },
    });
    const jobs = begun.map((name) => {
      const input = { ...INPUT, file: { ...INPUT.file, name } };
      return running(input, { record: records.get(name), foundState: died === 0 ? 'queued' : 'running' });
    });
    const runs = jobs.map((job, i) =>
      kind.run(job, never()).then(
        (result) => void outcomes.set(begun[i], result),
        (error: unknown) => void outcomes.set(begun[i], error),
      ),
    );
    await Promise.race([ended, Promise.all(runs)]);
    jobs.forEach(({ record }, i) => records.set(begun[i], record));
  }
  expect(outcomes.get('guilty')).toMatchObject({ kind: 'limit_exceeded' });
  for (const name of ['innocent', 'another']) expect(outcomes.get(name)).toMatchObject({ outcome: 'inserted' });
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

test('processes that lost an election, and live, do not count', async () => {
  const alive = new Set<string>();
  const isAlive = (worker: string): boolean => alive.has(worker);
  let record: JobRecord | undefined;
  /** A process drives no longer while it parses. */
  const deposed = async (worker: string, lives: boolean): Promise<void> => {
    const job = running(INPUT, { record, foundState: record === undefined ? 'queued' : 'running' });
    let isReached = false;
    const parse = (): Promise<never> => {
      isReached = true;
      return hanging();
    };
    void kindOf({ worker, isAlive, parse }).run(job, never());
    await eventually('it parses', async () => isReached);
    ({ record } = job);
    if (lives) alive.add(worker);
  };
  for (let i = 0; i < 6; i += 1) await deposed(`alive ${i}`, true);
  await deposed('dead 1', false);
  await deposed('dead 2', false);
  // These were seen alive since: what they end of later is something else.
  alive.clear();
  const run = (): Promise<object | null> =>
    kindOf({ isAlive }).run(running(INPUT, { record, foundState: 'running' }), never());
  await deposed('alive 6', true);
  expect(await run()).toMatchObject({ outcome: 'inserted' });
  await deposed('dead 3', false);
  await expect(run()).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('3 processes ended'),
  });
});

describe('fields of rows', () => {
  const table = (fields: Record<string, unknown>): ParsedDocument => ({
    ...parsed('A row.'),
    type: 'jsonl',
    rows: [{ start: 0, end: 6, fields }],
  });
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { x: deep(levels - 1) });
  const ran = (fields: Record<string, unknown>, textInMetadata = false) =>
    kindOf({ parse: async () => table(fields) }).run(running({ ...INPUT, textInMetadata }), never());

  test.each([
    ['are too deep', { a: deep(31) }, 'fields of row 1 are more than 31 levels deep'],
    ['are too many', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, i])), 'more than 100 keys'],
    ['are beyond numbers', { a: [1, Infinity] }, 'range of a double'],
  ])('that %s are refused as those of other metadata are', async (_what, fields, message) => {
    await expect(ran(fields)).rejects.toMatchObject({
      kind: 'limit_exceeded',
      message: expect.stringContaining(message),
    });
    expect(stored).toEqual([]);
    await ran({ a: deep(30) });
  });

  test('count with the metadata that all chunks have', async () => {
    const metadata = JSON.stringify(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`m${i}`, i])));
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, i]));
    const run = (count: number) =>
      kindOf({ parse: async () => table(fields(count)) }).run(running({ ...INPUT, metadata }), never());
    await run(40);
    await expect(run(41)).rejects.toMatchObject({ kind: 'limit_exceeded' });
    expect(stored).toHaveLength(1);
  });

  test('whose names are those of the service are under `row`, and change nothing of it', async () => {
    const fields = { source: 'x', page: 7, headings: ['y'], document: { generation: 9e15 }, row: 1, year: 2, text: 3 };
    await ran(fields);
    const { year, ...taken } = fields;
    const { text, ...withText } = taken;
    expect(JSON.parse(stored[0].puts[0].metadata!)).toMatchObject({ source: 'a.txt', year, row: withText, text });
    expect(JSON.parse(stored[0].puts[0].metadata!)).not.toHaveProperty('page');
    expect(JSON.parse(stored[0].puts[0].metadata!)).toHaveProperty('document.generation', 1);
    await ran(fields, true);
    expect(JSON.parse(stored[1].puts[0].metadata!)).toMatchObject({ text: 'A row.', row: taken });
    await ran({ ['__proto__']: 1, year });
    expect(stored[2].puts[0].metadata).toContain('"year":2');
  });
});

test('vectors of a run that was stopped are not kept, and those of one that is tried again are', async () => {
  let embedded = 0;
  let isAway = true;
  const kind = kindOf({
    embed: async (texts) => {
      embedded += texts.length;
      return { vectors: texts.map(() => new Float32Array(4)), unsettled: null, cut: [] };
    },
    exchange: async () => {
      if (isAway) throw new QuiverError('unavailable', 'the shard is away');
    },
  });
  await expect(kind.run(running(INPUT), never())).rejects.toThrow('away');
  await expect(kind.run(running(INPUT), never())).rejects.toThrow('away');
  expect(embedded).toBe(1);
  const stop = new AbortController();
  stop.abort();
  await expect(kind.run(running(INPUT), stop.signal)).rejects.toThrow();
  isAway = false;
  await kind.run(running(INPUT), never());
  expect(embedded).toBe(2);
});

describe('an acknowledged document', () => {
  const failing = (kind: ErrorKind): (() => Promise<never>) => {
    return () => Promise.reject(new QuiverError(kind, `it is ${kind}`));
  };

  test.each(['storage_failed', 'embedding_unavailable', 'conflict'] as const)('is kept after %s', async (kind) => {
    const expected = { kind: 'unavailable', message: `it is ${kind}` };
    const revoke = async (): Promise<void> => undefined;
    await expect(kindOf({ exchange: failing(kind), revoke }).run(running(INPUT), never())).rejects.toMatchObject(
      expected,
    );
    await expect(kindOf({ embed: failing(kind) }).run(running(INPUT), never())).rejects.toMatchObject(expected);
  });

  test('fails of a text that its model does not take, and of what it is', async () => {
    const embed = async (texts: string[]) => {
      if (texts.includes('Some text.')) throw new TextFailure('not this text');
      return made(texts);
    };
    await expect(kindOf({ embed }).run(running(INPUT), never())).rejects.toMatchObject({
      kind: 'embedding_unavailable',
    });
    await expect(kindOf({ parse: failing('invalid_parameter') }).run(running(INPUT), never())).rejects.toMatchObject({
      kind: 'invalid_parameter',
    });
  });

  test('rests while its model takes no text at all, whatever the model says of it', async () => {
    const asked: string[] = [];
    const embed = async (texts: string[]): Promise<never> => {
      asked.push(...texts);
      throw new TextFailure('credits are used up');
    };
    const kind = kindOf({ embed });
    for (let run = 0; run < 2; run += 1)
      await expect(kind.run(running(INPUT), never())).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'credits are used up',
      });
    // What the model is asked for besides is new each time: nobody has the vector of it.
    expect(new Set(asked.filter((text) => text !== 'Some text.')).size).toBe(2);
  });

  test('is stored though its model was out of memory for a moment', async () => {
    let calls = 0;
    const embed = async (texts: string[]) => {
      calls += 1;
      if (calls === 1) throw new TextFailure('out of memory');
      return made(texts);
    };
    expect(await kindOf({ embed }).run(running(INPUT), never())).toMatchObject({ outcome: 'inserted' });
  });

  test('rests while its model makes vectors of another length than it did', async () => {
    const embed = failing('dimension_mismatch');
    await expect(kindOf({ embed, embeddingModel: 'm' }).run(running(INPUT), never())).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'it is dimension_mismatch',
    });
    // One that never made vectors of the collection never will.
    await expect(kindOf({ embed }).run(running(INPUT), never())).rejects.toMatchObject({ kind: 'dimension_mismatch' });
  });

  test('gets on with a model that makes few vectors before a call is given up', async () => {
    let nowMs = 0;
    let mostInTime = 10;
    const asked: number[] = [];
    const kind = kindOf({
      clock: { ...systemClock, monotonicMs: () => nowMs },
      parse: async () => words(1_000),
      embed: async (texts) => {
        asked.push(texts.length);
        if (texts.length > mostInTime) throw new QuiverError('unavailable', 'it took too long');
        if (mostInTime < 64) nowMs += 30_000;
        return made(texts);
      },
    });
    const job = running(INPUT);
    const attempts = async (): Promise<object | null> => {
      for (let attempt = 0; ; attempt += 1) {
        const done = await kind.run(running(INPUT, { record: job.record }), never()).catch((error: unknown) => {
          if (attempt === 10) throw error;
          return null;
        });
        if (done !== null) return done;
      }
    };
    const { embedded } = (await attempts()) as { embedded: number };
    expect(asked.filter((count) => count > 8).every((count) => [64, 32, 16].includes(count))).toBe(true);
    // What was made is not made again.
    expect(asked.filter((count) => count <= 8).reduce((sum, count) => sum + count, 0)).toBe(embedded);
    // A quick model has more at once again.
    mostInTime = 64;
    asked.length = 0;
    await kind.ended(job.record);
    await kind.run(running(INPUT), never());
    expect(Math.max(...asked)).toBeGreaterThan(8);
  });

  test('asks for no more once a call failed, and what comes late holds up no other document', async () => {
    let letGo = (): void => undefined;
    const late = new Promise<void>((resolve) => (letGo = resolve));
    let calls = 0;
    let isBroken = true;
    const kind = kindOf({
      parse: async () => words(1_000),
      embed: async (texts) => {
        if (!isBroken) return made(texts);
        calls += 1;
        if (calls === 1) throw new QuiverError('unavailable', 'the model is away');
        await late;
        return made(texts);
      },
    });
    const first = running(INPUT);
    await expect(kind.run(first, never())).rejects.toThrow('away');
    const { record } = first;
    let notes = 0;
    first.report = () => void (notes += 1);
    first.note = async () => void (notes += 1);
    letGo();
    await new Promise(setImmediate);
    isBroken = false;
    // At one at which a process ended, all others say that they have no part.
    const ended = { ...record, id: 'document-2', notes: { worker: 'another', lost: 0 } };
    expect(await kind.run(running(INPUT, { record: ended, foundState: 'running' }), never())).toMatchObject({
      outcome: 'inserted',
    });
    expect(calls).toBe(2);
    expect(notes).toBe(0);
  });

  test.each(['storage_failed', 'internal'] as const)(
    'is not given up while its write may be on its way: its shard says %s',
    async (kind) => {
      let isFull = true;
      const revoked: string[] = [];
      const revoke: Parts['stored']['revoke'] = async (_collection, { token }) => {
        if (isFull) return failing(kind)();
        revoked.push(token);
      };
      const first = running(INPUT);
      const exchange = failing('commit_unknown');
      await expect(kindOf({ exchange, revoke }).run(first, never())).rejects.toMatchObject({ kind: 'commit_unknown' });
      const { token } = first.record.notes as { token: string };
      expect(token).toHaveLength(32);
      const next = running(INPUT, { record: first.record });
      await expect(kindOf({ revoke }).run(next, never())).rejects.toMatchObject({ kind: 'unavailable' });
      expect(next.record.notes).toMatchObject({ token });
      isFull = false;
      const last = running(INPUT, { record: next.record });
      expect(await kindOf({ revoke }).run(last, never())).toMatchObject({ outcome: 'inserted' });
      expect(revoked).toEqual([token]);
    },
  );

  test('whose write, and what is asked of it, fail at a full disk keeps its token', async () => {
    const job = running(INPUT);
    const full = failing('storage_failed');
    await expect(kindOf({ exchange: full, revoke: full }).run(job, never())).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect(job.record.notes).toMatchObject({ token: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });

  test('leaves its place to others while its provider takes nothing, with the vectors that it has', async () => {
    let lateMs = 0;
    let isBusy = true;
    const asked: number[] = [];
    const kind = kindOf({
      clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + lateMs },
      parse: async () => parsed(Array.from({ length: 1_000 }, (_, i) => `word${i}`).join(' ')),
      embed: async (texts) => {
        asked.push(texts.length);
        if (isBusy && asked.length > 2) {
          lateMs += 60_000;
          throw new QuiverError('overloaded', 'the provider takes no more texts');
        }
        return { vectors: texts.map(() => new Float32Array(4)), unsettled: null, cut: [] };
      },
    });
    const job = running(INPUT);
    await expect(kind.run(job, never())).rejects.toMatchObject({ kind: 'overloaded' });
    const before = asked.splice(0).slice(0, 2);
    isBusy = false;
    const { embedded } = (await kind.run(running(INPUT, { record: job.record }), never())) as { embedded: number };
    expect(asked.reduce((sum, count) => sum + count, 0)).toBe(embedded - before[0] - before[1]);
  });

  test('is freed of each thing that it had, whatever fails of the others', async () => {
    const freed: string[] = [];
    const kind = kindOf();
    const { parts } = kind as unknown as { parts: any };
    parts.files.delete = failing('unavailable');
    parts.room.release = async (id: string) => void freed.push(id);
    await expect(kind.ended(running(INPUT).record)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(freed).toEqual(['document-1']);
  });
});
