import { RemoteModel } from '../../../../../coordinator/models/remote/remote-model';
import { TokenBudget } from '../../../../../coordinator/models/remote/token-budget';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** A job's texts with a provider whose tokens of a day are few. */

/** Of three tokens, by what is guessed. */
const textOf = (i: number): string => `text ${i}`;

let store: KeyValueClusterStore;
/** How many texts each call had. */
let calls: number[];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  calls = [];
});
afterEach(() => store.close());

function modelOf(perDay: number): RemoteModel {
  const budget = new TokenBudget({ provider: 'p', perDay, store, clock: new ManualClock() });
  return new RemoteModel({
    name: 'm',
    provider: 'p',
    charactersMax: 1_000,
    runner: { dim: 1, probe: async () => 1 },
    dispatcher: {
      embed: async (texts: string[]) => {
        calls.push(texts.length);
        await budget.take(3 * texts.length);
        return texts.map((text) => Float32Array.of(Number(text.split(' ')[1])));
      },
      close: async () => undefined,
    },
    cache: null,
    budget,
    observer: { cached: () => undefined },
  } as unknown as ConstructorParameters<typeof RemoteModel>[0]);
}

const embed = (model: RemoteModel, count: number): Promise<Float32Array[]> =>
  model.embed(
    Array.from({ length: count }, (_, i) => textOf(i)),
    { dim: 1, kind: 'passage', isOfJob: true },
  );

test('texts that are too many for a day at once are embedded in parts, as long as there is room', async () => {
  const model = modelOf(1_000);
  expect((await embed(model, 200)).map(([value]) => value)).toEqual(Array.from({ length: 200 }, (_, i) => i));
  expect(calls).toEqual([200]);
  calls = [];
  // 200 tokens are left for jobs: 66 texts.
  await expect(embed(model, 200)).rejects.toMatchObject({ kind: 'rate_limited' });
  expect(calls.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(60);
  expect(calls.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(66);
});

test('a job goes on in a day that has less room than all of its texts at once, but not than one', async () => {
  await expect(embed(modelOf(100), 40)).rejects.toMatchObject({
    message: expect.stringContaining('Jobs leave a fifth'),
  });
  expect(calls.reduce((sum, count) => sum + count, 0)).toBe(26);
  calls = [];
  await expect(embed(modelOf(3), 40)).rejects.toMatchObject({ message: expect.stringContaining('raise that') });
  expect(calls).toEqual([]);
});
