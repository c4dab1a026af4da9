import {
  type StoreDedup,
  outcomeFromEntry,
  outcomePath,
  OUTCOMES_PREFIX,
  outcomeToValue,
} from '../../../../../coordinator/service/idempotency/store-dedup';
import { StoredOutcomes } from '../../../../../coordinator/service/idempotency/stored-outcomes';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { ManualClock } from '../../../../support/manual-clock';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';

/** What is forgotten of requests that were done, and when. */

const KEPT_MS = 1_000;
/** Of one transaction. */
const CHANGES_MAX = 100;

let clock: ManualClock;
let store: InterceptedClusterStore;
let outcomes: StoredOutcomes;

beforeEach(async () => {
  clock = new ManualClock();
  store = new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  outcomes = new StoredOutcomes({ store, clock });
});
afterEach(() => store.close());

function dedupOf(i: number): StoreDedup {
  return {
    token: `token-${String(i).padStart(3, '0')}`,
    digest: 'd',
    expiresAtMs: clock.wallMs() + KEPT_MS,
    sealingKey: '',
  };
}

/** Stores the outcome of request i as of now, whatever is there. */
async function done(i: number): Promise<void> {
  await store.transact(
    [],
    [{ type: 'put', key: outcomePath(dedupOf(i).token), value: outcomeToValue(dedupOf(i), { result: i }) }],
  );
}

async function kept(): Promise<unknown[]> {
  return (await store.list(OUTCOMES_PREFIX)).entries.map((entry) => outcomeFromEntry(entry).result);
}

test('a sweep deletes what has expired, in several transactions', async () => {
  for (let i = 0; i < 2 * CHANGES_MAX + 1; i += 1) await done(i);
  clock.advance(KEPT_MS);
  await done(999);
  store.transactions.length = 0;
  await outcomes.sweep();
  expect(await kept()).toEqual([999]);
  expect(store.transactions.map(({ length }) => length)).toEqual([CHANGES_MAX, CHANGES_MAX, 1]);
});

test('an outcome that is stored anew while a sweep is under way stays, and the next sweep deletes the others', async () => {
  for (const i of [1, 2, 3]) await done(i);
  clock.advance(KEPT_MS);
  store.beforeTransact = async () => {
    store.beforeTransact = async () => undefined;
    // Found expired by a repeated request, which deletes it and is done again.
    expect(await outcomes.find(dedupOf(2))).toBeNull();
    await done(2);
  };
  await outcomes.sweep();
  expect(await outcomes.find(dedupOf(2))).toMatchObject({ result: 2 });
  await outcomes.sweep();
  expect(await kept()).toEqual([2]);
});

test('many outcomes that began jobs push out none of the others', async () => {
  const most = 10_000;
  const put = (i: number, result: unknown) => {
    const dedup = { ...dedupOf(0), token: `token-${i}`, expiresAtMs: clock.wallMs() + KEPT_MS + i };
    return { type: 'put' as const, key: outcomePath(dedup.token), value: outcomeToValue(dedup, { result }) };
  };
  await store.transact(
    [],
    [put(0, 'a creation'), ...Array.from({ length: most + 3 }, (_, i) => put(i + 1, { jobId: i }))],
  );
  await outcomes.sweep();
  const left = await kept();
  expect(left).toHaveLength(most + 1);
  expect(left).toContain('a creation');
  expect(left).not.toContainEqual({ jobId: 2 });
});
