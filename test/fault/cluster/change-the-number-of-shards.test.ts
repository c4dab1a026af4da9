import {
  RESHARDS_PREFIX,
  reshardFromEntry,
  type ReshardRecord,
  type ReshardState,
} from '../../../coordinator/service/collections/reshard-record';
import {
  assignmentFromEntry,
  assignmentPath,
  ASSIGNMENTS_PREFIX,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import type { MemberProcess } from '../../support/processes/member-process';
import { sharedCluster } from './shared-cluster';
import { StillDocuments } from './still-documents';
import { COLLECTION, underLoad } from './under-load';

const PATH = `/v1/collections/${COLLECTION}`;
/** Chunks besides the items of the clients, so that the copy takes a while. */
const CHUNKS = 2000;

type Victim = 'the controller' | 'an old primary' | 'a new primary';
/** `RESHARD_KILLS=all` tries each of them at each state. */
const KILLS: [ReshardState, Victim][] =
  process.env.RESHARD_KILLS === 'all'
    ? (['filling', 'sealing', 'opening'] as const).flatMap((state) =>
        (['the controller', 'an old primary', 'a new primary'] as const).map((victim): [ReshardState, Victim] => [
          state,
          victim,
        ]),
      )
    : [
        ['filling', 'an old primary'],
        ['sealing', 'a new primary'],
        ['opening', 'the controller'],
      ];

const on = sharedCluster({
  nodes: 3,
  coordinators: 2,
  environment: { REQUEST_TIMEOUT_MS: '8000', READ_REPLICAS: 'in-sync' },
});

async function shardsOf(cluster: ClusterProcesses): Promise<number> {
  return (await cluster.data<{ shards: number }>('GET', PATH)).shards;
}

async function reshard(cluster: ClusterProcesses, shards: number): Promise<void> {
  await cluster.data('POST', `${PATH}/reshard`, { shards });
  await eventually(`it has ${shards} shards`, async () => (await shardsOf(cluster).catch(() => 0)) === shards);
}

/** Calls `then` once, as soon as a reshard is in this state. Answers what ends that. */
function once(
  cluster: ClusterProcesses,
  wanted: ReshardState,
  then: (reshard: ReshardRecord) => void,
): () => Promise<void> {
  const store = cluster.openStore();
  let isOver = false;
  const stopped = store.list(RESHARDS_PREFIX).then(({ revision }) =>
    store.watch(RESHARDS_PREFIX, revision, (events) => {
      for (const event of events) {
        if (isOver || event.type !== 'put' || reshardFromEntry(event).state !== wanted) continue;
        isOver = true;
        then(reshardFromEntry(event));
      }
    }),
  );
  return async () => {
    (await stopped)();
    await store.close();
  };
}

async function victimOf(
  cluster: ClusterProcesses,
  victim: Victim,
  { from, to }: ReshardRecord,
): Promise<MemberProcess | undefined> {
  const store = cluster.openStore();
  try {
    if (victim === 'the controller') {
      const { controller } = await cluster.view();
      return cluster.coordinators.find(({ id }) => id === controller);
    }
    const entry = await store.get(
      assignmentPath({ collectionUid: victim === 'an old primary' ? from.uid : to.uid, shard: 0 }),
    );
    const node = entry === null ? undefined : assignmentFromEntry(entry).primary?.node;
    return cluster.nodes.find(({ id }) => id === node) ?? cluster.nodes[0];
  } finally {
    await store.close();
  }
}

/** Shards in the map that no collection has. */
async function strayShards(cluster: ClusterProcesses): Promise<number> {
  const store = cluster.openStore();
  try {
    const { shards, new_shards: coming } = await cluster.view();
    return (await store.list(ASSIGNMENTS_PREFIX)).entries.length - shards.length - coming.length;
  } finally {
    await store.close();
  }
}

test('a collection grows from one shard to eight and shrinks to three without a failed request', async () => {
  const { history } = await underLoad(
    'reshard',
    { on, replicas: 2, shards: 1, mayFail: () => false },
    async ({ cluster, writes }) => {
      const still = await StillDocuments.put(cluster, CHUNKS);
      await still.checkWhile(reshard(cluster, 8));
      await writes(50);
      await still.checkWhile(reshard(cluster, 3));
      await writes(50);
    },
  );
  console.log(
    `the longest call took ${Math.max(...history.map(({ invokedMs, returnedMs }) => returnedMs - invokedMs)).toFixed(0)} ms`,
  );
});

test('a reshard that is given up leaves the collection as it was', async () => {
  await underLoad(
    'cancel-a-reshard',
    { on, replicas: 2, shards: 2, mayFail: () => false },
    async ({ cluster, writes }) => {
      const still = await StillDocuments.put(cluster, CHUNKS);
      const giveUpWhen = async (state: ReshardState): Promise<void> => {
        const cancelled: Promise<unknown>[] = [];
        const stop = once(cluster, state, () => cancelled.push(cluster.call('DELETE', `${PATH}/reshard`)));
        await cluster.data('POST', `${PATH}/reshard`, { shards: 5 });
        await eventually(`it is ${state}, and given up`, () => cancelled.length > 0);
        await Promise.all(cancelled);
        await eventually('no reshard is left', async () =>
          (await cluster.data('GET', '/v1/cluster')).reshards.every(
            ({ state: now }: { state: string }) => now === 'retiring',
          ),
        );
        await stop();
        await writes(20);
        await still.check();
      };
      // On a machine that stands still for a moment, it may be too late for that: then it is done again.
      for (let tries = 0; tries === 0 || ((await shardsOf(cluster)) !== 2 && tries < 5); tries += 1) {
        if (tries > 0) await reshard(cluster, 2);
        await giveUpWhen('filling');
      }
      expect(await shardsOf(cluster)).toBe(2);
      // Here it often is.
      await giveUpWhen('sealing');
    },
  );
});

test.each(KILLS)('kill -9 while a reshard is %s, of %s: it goes on, and nothing is lost', async (state, victim) => {
  await underLoad(
    `reshard-${state}-${victim.replaceAll(' ', '-')}`,
    { on, replicas: 2, shards: 2 },
    async ({ cluster, writes }) => {
      const still = await StillDocuments.put(cluster, CHUNKS);
      const killed: Promise<MemberProcess | undefined>[] = [];
      const stop = once(cluster, state, (found) => {
        killed.push(
          victimOf(cluster, victim, found).then(async (process) => {
            await process?.kill();
            return process;
          }),
        );
      });
      await cluster.data('POST', `${PATH}/reshard`, { shards: 4 });
      await eventually('somebody was killed', () => killed.length > 0);
      const [gone] = await Promise.all(killed);
      await stop();
      const witness = cluster.coordinators.findIndex(({ isRunning }) => isRunning);
      await still.checkWhile(
        eventually(
          'it has 4 shards',
          async () => (await cluster.data('GET', PATH, undefined, witness).catch(() => null))?.shards === 4,
        ),
        { coordinator: witness, mayFail: true },
      );
      await writes(20);
      if (gone !== undefined && !gone.isRunning) await gone.start();
      await cluster.settled();
      await still.check();
    },
  );
});

test('nothing is left of the shards that were replaced', async () => {
  await on.runs((cluster) =>
    eventually('no shard is in the map that no collection has', async () => (await strayShards(cluster)) === 0),
  );
});
