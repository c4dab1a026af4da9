import { ManualClock } from '../support/manual-clock';
import type { UpsertOperation } from '../../shared/contract/shard/shard-client';
import { NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' } as const;
const AHEAD_MS = 3_600_000;

test("a shard's time that is ahead of the clock is shown, over starts; one that takes its items over begins with the clock", async () => {
  const clock = new ManualClock();
  const node = await new ShardNode({ factories: plainFactories, openStore: openRocksStore, clock }).start();
  const aheadMs = async (uid: string = SPEC.collectionUid): Promise<number | undefined> => {
    const all = await node.host.observe();
    return all.find(({ collectionUid }) => collectionUid === uid)?.data.clockAheadMs;
  };
  try {
    await node.client.make(SPEC);
    const item: UpsertOperation = {
      type: 'upsert',
      externalId: 'a',
      vector: Float32Array.of(1, 2),
      stamp: 1,
      metadata: '{}',
      text: undefined,
      expiresAt: clock.wallMs() + 2 * AHEAD_MS,
    };
    clock.advance(AHEAD_MS);
    await node.client.write(SPEC, [item], NO_HURRY);
    // The machine's own clock goes on while the shard is looked at.
    let machineMs = Date.now();
    const machine = jest.spyOn(Date, 'now').mockImplementation(() => (machineMs += 1));
    expect(await aheadMs()).toBe(0);
    machine.mockRestore();
    clock.advance(-AHEAD_MS);
    expect(await aheadMs()).toBe(AHEAD_MS);
    await node.restart();
    await node.client.make(SPEC);
    expect(await aheadMs()).toBe(AHEAD_MS);

    const next = { ...SPEC, collectionUid: 'next' };
    await node.client.make(next);
    const [{ externalId, vector = new Float32Array(2), stamp, metadata, text, expiry }] = await node.client.read(
      SPEC,
      'scan',
      { after: null, limit: 1, filter: null, vectors: true, expiries: true },
      NO_HURRY,
    );
    await node.client.write(next, [{ type: 'stage', stage: 'filling', term: 1, reshard: 'r', forget: 0 }], NO_HURRY);
    await node.client.write(
      next,
      [{ type: 'import', externalId, term: 1, item: { vector, stamp, metadata, text, expiry } }],
      NO_HURRY,
    );
    await node.client.write(next, [{ type: 'stage', stage: 'open', term: 1, reshard: 'r', forget: 0 }], NO_HURRY);
    expect(await node.client.read(next, 'count', null, NO_HURRY)).toBe(1);
    expect(await aheadMs('next')).toBe(0);
  } finally {
    await node.destroy();
  }
});
