import { type BulkOptions, writeInBatches } from '../../../../../clients/typescript/src/bulk-write';
import { apiError, ServerError, ValidationError } from '../../../../../clients/typescript/src/errors';
import { seededRandom } from '../../../../support/values/random';

interface Item {
  id: string;
  value: number;
}

const PARTS = { idOf: ({ id }: Item) => id, textOf: (item: Item) => JSON.stringify(item) };
const itemsOf = (texts: readonly string[]): Item[] => texts.map((text) => JSON.parse(text) as Item);
const numbered = (count: number): Item[] => Array.from({ length: count }, (_, value) => ({ id: `i${value}`, value }));
const refusal = (code: number) =>
  apiError('no', { code, requestId: null, retryAfterMs: null, method: 'POST', path: '/', attempts: 1 });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Writes to a map, with the options; answers the sizes of the requests in the order in which they were begun. */
async function written(
  items: Iterable<Item> | AsyncIterable<Item>,
  options: BulkOptions<Item, number>,
  send: (batch: Item[]) => Promise<void> = turn,
) {
  const sizes: number[] = [];
  const stored = new Map<string, number>();
  let underWay = 0;
  let underWayMost = 0;
  const progress = await writeInBatches<Item, number>(
    items,
    {
      ...PARTS,
      send: async (texts) => {
        sizes.push(texts.length);
        underWayMost = Math.max(underWayMost, ++underWay);
        await send(itemsOf(texts)).finally(() => underWay--);
        for (const { id, value } of itemsOf(texts)) stored.set(id, value);
        return texts.length;
      },
    },
    options,
  );
  return { progress, sizes, stored, underWayMost };
}

test('items go in batches by number and by bytes, several at a time', async () => {
  const byNumber = await written(numbered(25), { batchItems: 10, lanes: 2 });
  expect(byNumber).toMatchObject({
    sizes: [10, 10, 5],
    underWayMost: 2,
    progress: { items: 25, batches: 3, rejected: 0 },
  });
  const size = JSON.stringify(numbered(1)[0]).length;
  expect((await written(numbered(5), { batchBytes: 2 * size })).sizes).toEqual([2, 2, 1]);
  // One that is too large has a request of its own, and the service says what it thinks of it.
  expect((await written(numbered(2), { batchBytes: 1 })).sizes).toEqual([1, 1]);
  expect(await written([], {})).toMatchObject({ sizes: [], progress: { items: 0, bytes: 0, batches: 0 } });
});

test('bytes are those of UTF-8', async () => {
  const items = [{ id: '…'.repeat(100), value: 1 }];
  expect((await written(items, {})).progress.bytes).toBe(Buffer.byteLength(JSON.stringify(items[0])));
});

test('of two writes of an id the later one stays, whatever the order in which requests end', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed);
    const items = Array.from({ length: 300 }, (_, value) => ({ id: `i${Math.floor(random() * 40)}`, value }));
    const slowly = async (): Promise<void> => {
      for (let turns = Math.floor(random() * 8); turns >= 0; turns--) await turn();
    };
    const { stored, underWayMost } = await written(items, { batchItems: 3, lanes: 5 }, slowly);
    expect(stored).toEqual(new Map(items.map(({ id, value }) => [id, value])));
    expect(underWayMost).toBeGreaterThan(1);
  }
});

test('no more is read ahead than there are lanes', async () => {
  let read = 0;
  async function* source(): AsyncGenerator<Item> {
    for (const item of numbered(100)) {
      read++;
      yield item;
    }
  }
  let readAtFirst = 0;
  await written(source(), { batchItems: 5, lanes: 2 }, async () => {
    for (let turns = 0; turns < 20; turns++) await turn();
    readAtFirst ||= read;
  });
  expect(readAtFirst).toBeLessThanOrEqual(3 * 5 + 1);
});

test('a failure ends it when what is under way has ended, and closes the source', async () => {
  let isClosed = false;
  function* source(): Generator<Item> {
    try {
      yield* numbered(1000);
    } finally {
      isClosed = true;
    }
  }
  const acknowledged: string[] = [];
  let ended = 0;
  const call = written(
    source(),
    { batchItems: 10, lanes: 3, onBatch: ({ items }) => acknowledged.push(items[0].id) },
    async ([{ id }]) => {
      await turn();
      if (id !== 'i10') for (let turns = 0; turns < 5; turns++) await turn();
      ended++;
      if (id === 'i10') throw refusal(500);
    },
  );
  await expect(call).rejects.toBeInstanceOf(ServerError);
  expect(isClosed).toBe(true);
  expect(ended).toBe(3);
  expect(acknowledged).toEqual(['i0', 'i20']);
});

test('what the source throws comes out, after what is under way', async () => {
  async function* source(): AsyncGenerator<Item> {
    yield* numbered(15);
    throw new Error('the file ended early');
  }
  let ended = 0;
  const call = written(source(), { batchItems: 10 }, async () => {
    await turn();
    ended++;
  });
  await expect(call).rejects.toThrow('the file ended early');
  expect(ended).toBe(1);
});

test('refused items are found and handed over, the others written in order', async () => {
  const bad = new Set(['i3', 'i17', 'i18']);
  const rejected: string[] = [];
  const refuse = async (batch: Item[]): Promise<void> => {
    await turn();
    if (batch.some(({ id }) => bad.has(id))) throw refusal(422);
  };
  const onRejected = ({ id }: Item, error: Error): void => {
    expect(error).toBeInstanceOf(ValidationError);
    rejected.push(id);
  };
  const { stored, progress } = await written(numbered(40), { batchItems: 10, onRejected }, refuse);
  expect(new Set(rejected)).toEqual(bad);
  expect(stored.size).toBe(37);
  expect(progress).toMatchObject({ items: 37, rejected: 3 });
  await expect(written(numbered(40), { batchItems: 10 }, refuse)).rejects.toBeInstanceOf(ValidationError);
  const stop = () => {
    throw new Error('too many');
  };
  await expect(written(numbered(40), { batchItems: 10, onRejected: stop }, refuse)).rejects.toThrow('too many');
});

test('options that make no sense are refused', async () => {
  for (const options of [{ lanes: 0 }, { batchItems: 0 }, { batchBytes: Number.NaN }])
    await expect(written([], options)).rejects.toThrow(RangeError);
});
