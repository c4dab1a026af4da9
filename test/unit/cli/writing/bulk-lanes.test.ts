import { type Connection } from '../../../../cli/connection/connection';
import { NoAnswerError, ServiceError } from '../../../../cli/connection/service-error';
import { BulkLanes, type LaneOptions } from '../../../../cli/writing/bulk-lanes';
import { type Passage, type RejectedRow, Watermark } from '../../../../cli/writing/watermark';

interface Sent {
  external_id: string;
  n: number;
  text: string;
  vector?: string;
}

/** Every other row has a vector. */
const vectorOf = (n: number): Float32Array | null => (n % 2 === 0 ? Float32Array.of(n, -0.5, 3) : null);
const TEXT = 'Zürich 東京';

/** A service of which each test says what it answers; `stored` is what it has. */
function setUp(answer: (items: Sent[], call: number) => Promise<void> | void, options: Partial<LaneOptions> = {}) {
  const stored = new Map<string, number>();
  const sizes: number[] = [];
  const settled: { mark: number; rows: number; rejected: RejectedRow[] }[] = [];
  const waits: number[] = [];
  let calls = 0;
  let now = 0;
  let most = 0;
  let taken = 0;
  const connection = {
    call: async (_method: string, path: string, { body }: { body: Uint8Array }) => {
      expect(path).toBe('/v1/collections/c/bulk_upsert');
      const { items } = JSON.parse(Buffer.from(body).toString()) as { items: Sent[] };
      for (const { n, text, vector } of items)
        expect({ text, vector }).toEqual({
          text: TEXT,
          vector: n % 2 === 0 ? Buffer.from(vectorOf(n)!.buffer).toString('base64') : undefined,
        });
      now += 1;
      most = Math.max(most, now);
      try {
        await answer(items, calls++);
      } finally {
        now -= 1;
      }
      sizes.push(items.length);
      for (const { external_id, n } of items) stored.set(external_id, n);
    },
  } as unknown as Connection;
  const watermark = new Watermark<number>(({ mark, rows, rejected }) => settled.push({ mark, rows, rejected }));
  const lanes = new BulkLanes(watermark, {
    connection,
    collection: 'c',
    lanes: 3,
    batchItemsMax: 4,
    batchCharactersMax: 10_000,
    requestTimeoutMs: 1000,
    patienceMs: 60_000,
    signal: new AbortController().signal,
    onWait: (_reason, ms) => waits.push(ms),
    ...options,
  });
  const add = async (passage: Passage<number>, id: string, n: number): Promise<void> => {
    taken += 1;
    await lanes.add(passage, {
      externalId: id,
      json: JSON.stringify({ external_id: id, n, text: TEXT }),
      vector: vectorOf(n),
      place: `row ${n}`,
    });
  };
  /** Rows 0 to n, in passages of 5. */
  const write = async (rows: number, idOf = (n: number): string => `i${n}`): Promise<void> => {
    for (let from = 0; from < rows; from += 5) {
      const passage = watermark.begin(from + 5, Math.min(5, rows - from));
      for (let n = from; n < Math.min(rows, from + 5); n++) await add(passage, idOf(n), n);
      watermark.close(passage);
    }
    await lanes.finish();
  };
  return {
    write,
    stored,
    sizes,
    settled,
    waits,
    isSettled: () => watermark.isSettled,
    most: () => most,
    taken: () => taken,
  };
}

const later = async (): Promise<void> => new Promise((done) => setImmediate(done));

describe('bulk lanes', () => {
  test('write everything, several requests at a time, and report passages in the order of the source', async () => {
    const { write, stored, settled, sizes, most, isSettled } = setUp(async (_items, call) => {
      // Later ones are done first.
      for (let i = 0; i < 30 - call; i++) await later();
    });
    await write(50);
    expect([...stored.values()].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(settled.map(({ mark }) => mark)).toEqual([5, 10, 15, 20, 25, 30, 35, 40, 45, 50]);
    expect({ most: most(), largest: Math.max(...sizes), isSettled: isSettled() }).toEqual({
      most: 3,
      largest: 4,
      isSettled: true,
    });
  });

  test('make as many requests in advance as there are lanes, and no more', async () => {
    const answers: (() => void)[] = [];
    const { write, stored, taken } = setUp(async () => new Promise<void>((done) => answers.push(done)));
    const written = write(100);
    const settle = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await later();
    };
    await settle();
    // Three under way, three made, and one that is full.
    expect({ underWay: answers.length, taken: taken() }).toEqual({ underWay: 3, taken: 28 });
    for (const answer of answers.splice(0)) answer();
    await settle();
    expect({ underWay: answers.length, taken: taken() }).toEqual({ underWay: 3, taken: 40 });
    while (stored.size < 100) {
      for (const answer of answers.splice(0)) answer();
      await later();
    }
    await written;
  });

  test('keep the last of several rows with one id, whichever request is faster', async () => {
    const { write, stored } = setUp(async (_items, call) => {
      for (let i = 0; i < (call % 2 === 0 ? 20 : 0); i++) await later();
    });
    await write(60, (n) => `i${n % 7}`);
    expect(Object.fromEntries(stored)).toEqual(
      Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`i${i}`, 59 - ((59 - i) % 7)])),
    );
  });

  test('halve what is refused until the bad rows are alone', async () => {
    const { write, stored, settled } = setUp((items) => {
      if (items.some(({ n }) => n === 6 || n === 11)) throw new ServiceError('bad vector', 422);
    });
    await write(20);
    expect(stored.size).toBe(18);
    expect(settled.flatMap(({ rejected }) => rejected)).toEqual([
      { place: 'row 6', externalId: 'i6', reason: 'bad vector' },
      { place: 'row 11', externalId: 'i11', reason: 'bad vector' },
    ]);
  });

  test('send smaller requests from then on when their size was what was refused', async () => {
    const { write, stored, sizes, settled } = setUp(
      (items) => {
        if (items.length > 2) throw new ServiceError('at most 2 items', 400);
      },
      { lanes: 1 },
    );
    await write(20);
    expect(stored.size).toBe(20);
    expect(settled.flatMap(({ rejected }) => rejected)).toEqual([]);
    expect(new Set(sizes)).toEqual(new Set([2]));
  });

  test('try again what can pass: no answer, a busy service, a failing one; and wait as long as it asks', async () => {
    const failures = [
      new NoAnswerError('no connection'),
      new ServiceError('shard away', 500),
      new ServiceError('slow down', 429, 30),
    ];
    const { write, stored, waits } = setUp((_items, call) => {
      if (failures[call] !== undefined) throw failures[call];
    });
    await write(10);
    expect(stored.size).toBe(10);
    expect(waits).toHaveLength(3);
    expect(Math.max(...waits)).toBeGreaterThanOrEqual(30);
  });

  test('give up when patience ends, and at once for what can not pass; nothing is settled that was not stored', async () => {
    const patient = setUp(
      () => {
        throw new NoAnswerError('no connection');
      },
      { patienceMs: 1 },
    );
    await expect(patient.write(10)).rejects.toMatchObject({ exitCode: 4, message: expect.stringContaining('gave up') });
    expect(patient.settled).toEqual([]);
    const denied = setUp(() => {
      throw new ServiceError('no key', 401);
    });
    await expect(denied.write(10)).rejects.toMatchObject({ exitCode: 6 });
    expect(denied.settled).toEqual([]);
  });
});

test('a service that asks for a longer wait than there is patience for is given up on at once', async () => {
  const { write, waits } = setUp(async () => Promise.reject(new ServiceError('full', 429, 86_400_000)));
  await expect(write(1)).rejects.toThrow(/gave up/);
  expect(waits).toEqual([]);
});
