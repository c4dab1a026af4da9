import { EMBEDDING_TOKENS_PREFIX, TokenBudget } from '../../../../../coordinator/models/remote/token-budget';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { seededRandom } from '../../../../support/values/random';

const DAY_MS = 86_400_000;

describe('TokenBudget', () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 30, 23, 0));
  let store: KeyValueClusterStore;
  beforeEach(async () => {
    store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  });
  afterEach(() => store.close());
  const budget = (perDay: number): TokenBudget => new TokenBudget({ provider: 'big', perDay, store, clock });

  test('is never exceeded by what was taken, whoever takes at once, and is used to the last', async () => {
    const random = seededRandom(3);
    const all = [budget(10_000), budget(10_000), budget(10_000)];
    let taken = 0;
    const refusals = new Set<string>();
    const take = async (of: TokenBudget, tokens: number): Promise<boolean> => {
      try {
        await of.take(tokens);
        taken += tokens;
        return true;
      } catch (error) {
        refusals.add((error as { kind: string }).kind);
        return false;
      }
    };
    for (let round = 0; round < 200; round++)
      await Promise.all(all.map((one) => take(one, 1 + Math.floor(random() * 100))));
    expect(taken).toBeLessThanOrEqual(10_000);
    // What one process has taken and not used is too little for another, and no more.
    for (const one of all) while (await take(one, 1));
    expect(taken).toBe(10_000);
    expect([...refusals]).toEqual(['rate_limited']);
    await expect(all[0].take(1)).rejects.toMatchObject({
      message: expect.stringMatching(/^The 10000 tokens that the embedding provider "big" may use in a day are spent/),
    });
  });

  test('jobs leave a fifth of the day to others, and go on the next day', async () => {
    const one = budget(100);
    let running = 0;
    let most = 0;
    const job = (tokens: number): Promise<void> =>
      one.ofJob(tokens, async () => {
        running += tokens;
        most = Math.max(most, running);
        await one.take(tokens);
        running -= tokens;
      });
    const refused = {
      kind: 'rate_limited',
      message: expect.stringMatching(
        /^Jobs leave a fifth of the 100 tokens .* \(tokens_per_day\); they go on at 00:00/,
      ),
    };
    await one.take(20);
    // Those that are admitted together do not come to more either.
    const settled = await Promise.allSettled([job(25), job(25), job(25)]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(most).toBe(50);
    await expect(job(20)).rejects.toMatchObject(refused);
    await job(10);
    // What other processes take counts as well.
    await expect(budget(100).ofJob(1, async () => undefined)).rejects.toMatchObject(refused);
    await one.take(20);
    clock.advance(DAY_MS);
    await job(80);
    await expect(job(1)).rejects.toMatchObject(refused);
    // What no day has room for is told apart: it does not go on by itself.
    await expect(job(81)).rejects.toMatchObject({
      kind: 'rate_limited',
      message: expect.stringMatching(
        /^A job embeds texts of about 81 tokens at once, and jobs may use 80 .* raise that$/,
      ),
    });
  });

  test('begins anew each day', async () => {
    const one = budget(100);
    await one.take(100);
    await expect(one.take(1)).rejects.toMatchObject({ kind: 'rate_limited' });
    clock.advance(DAY_MS);
    await one.take(60);
    await expect(one.take(60)).rejects.toMatchObject({ kind: 'rate_limited' });
  });

  test('what was not spent is there for others of the process, what was spent besides is missing', async () => {
    const one = budget(100);
    await one.take(80);
    one.settle(80, 30);
    await one.take(60);
    one.settle(60, 100);
    await expect(one.take(1)).rejects.toMatchObject({ kind: 'rate_limited' });
  });

  test('survives a start', async () => {
    await budget(100).take(90);
    await expect(budget(100).take(20)).rejects.toMatchObject({ kind: 'rate_limited' });
  });

  test('without a limit nothing is counted', async () => {
    const one = budget(0);
    await one.take(1e12);
    one.settle(1e12, 5);
    expect(await store.get(`${EMBEDDING_TOKENS_PREFIX}big`)).toBeNull();
  });
});
