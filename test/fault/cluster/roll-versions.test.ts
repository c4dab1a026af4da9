import { NODES_PREFIX, type NodeMember } from '../../../shared/cluster-store/entries/members';
import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { EARLIER_PROGRAM, type MemberProcess, type Release } from '../../support/processes/member-process';
import { comparisonsOf } from '../../support/shards/replica-comparisons';
import { underLoad } from './under-load';

/**
 * A cluster goes from one release to the next, member by member, under load, and part of the way back. The two are the
 * release in the folder QUIVER_EARLIER_PROGRAM and this one; or this one, and the same program with the claim to be the
 * next: it says another protocol version and one more feature.
 */
const [FROM, TO]: [Release, Release] = EARLIER_PROGRAM === undefined ? ['own', 'next'] : ['earlier', 'own'];

test('releases are rolled under load: no write is lost and no call fails; one that is too far away does not join', async () => {
  const options = {
    nodes: 3,
    replicas: 3,
    release: FROM,
    environment: { COMPARE_REPLICAS_SECONDS: '1' },
    mayFail: () => false,
  };
  await underLoad('roll-versions', options, async ({ cluster, writes, sendTo }) => {
    const stop = async (member: MemberProcess): Promise<void> => {
      await cluster.settled();
      // As a load balancer does: nobody is left on a connection that ends.
      sendTo((coordinator) => coordinator !== member);
      await writes(25);
      expect(await member.stop()).toBe(0);
    };
    const start = async (member: MemberProcess, release: Release): Promise<void> => {
      member.release = release;
      await member.start();
      await cluster.settled();
      sendTo(() => true);
      await writes(25);
    };
    const replace = async (member: MemberProcess, release: Release): Promise<void> => {
      await stop(member);
      await start(member, release);
    };
    const [first, second, last] = cluster.nodes;

    await stop(last);
    for (const [release, told] of [
      ['before', 'Stop all members, then start all of them with the later release'],
      ['distant', 'upgrade that member to a release in between first'],
    ] as const) {
      last.release = release;
      last.spawn();
      expect(await last.ended()).not.toBe(0);
      expect(last.output).toMatch(
        /member [a-z0-9-]+ speaks protocol \d+ .* and this one protocol \d+.*, which is too far apart: /,
      );
      expect(last.output).toContain(told);
    }
    await start(last, FROM);

    for (const node of [first, second]) await replace(node, TO);
    const protocols = await protocolsOf(cluster);
    expect(protocols['node-0']).toBe(protocols['node-1']);
    expect(protocols['node-0']).not.toBe(protocols['node-2']);
    // Primaries of either release compare with replicas of the other.
    const before = await comparisonsOf(cluster.nodes, 'same');
    await eventually('replicas are compared', async () => (await comparisonsOf(cluster.nodes, 'same')) > before);
    for (const member of [last, ...cluster.coordinators]) await replace(member, TO);
    expect(new Set(Object.values(await protocolsOf(cluster))).size).toBe(1);

    // Nothing new was used, so the way back is open.
    for (const member of [first, cluster.coordinators[0]]) await replace(member, FROM);
    expect(await comparisonsOf(cluster.nodes, 'different')).toBe(0);
  });
});

/** By node, the protocol that it registered. */
async function protocolsOf(cluster: ClusterProcesses): Promise<Record<string, number | undefined>> {
  const store = cluster.openStore();
  try {
    const { entries } = await store.list(NODES_PREFIX);
    return Object.fromEntries(
      entries.map(({ value }) => JSON.parse(value) as NodeMember).map(({ id, protocol }) => [id, protocol]),
    );
  } finally {
    await store.close();
  }
}
