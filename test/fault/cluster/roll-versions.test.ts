import { NODES_PREFIX, type NodeMember } from '../../../shared/cluster/members';
import type { ClusterProcesses } from '../../support/cluster-processes';
import { eventually } from '../../support/eventually';
import type { MemberProcess } from '../../support/member-process';
import { comparisonsOf } from '../../support/replica-comparisons';
import { COLLECTION, underLoad } from './under-load';

/**
 * A cluster goes from an earlier release to this one and back, member by member, under load. The earlier release is that
 * in the folder QUIVER_EARLIER_PROGRAM, or this program with the claim to be of before there were versions.
 */

/** Only a coordinator that stops may cut a connection. */
const mayFail = (message: string): boolean => message.startsWith('broken connection');

test('versions are rolled forth and back under load: nothing is lost, and what is new is used only while everybody knows it', async () => {
  const options = { nodes: 3, replicas: 3, earlier: true, environment: { COMPARE_REPLICAS_SECONDS: '1' }, mayFail };
  await underLoad('roll-versions', options, async ({ cluster, writes }) => {
    const replace = async (member: MemberProcess, isEarlier: boolean): Promise<void> => {
      await cluster.settled();
      expect(await member.stop()).toBe(0);
      member.isEarlier = isEarlier;
      await member.start();
      await cluster.settled();
      await writes(25);
    };
    await writes(25);
    const [first, second, last] = cluster.nodes;
    for (const node of [first, second]) await replace(node, false);
    expect(await protocolsOf(cluster)).toEqual({ 'node-0': 2, 'node-1': 2, 'node-2': undefined });
    // Nobody compares as long as one replica does not know how, also where the primary does.
    if ((await cluster.primaryOf(COLLECTION, 0)) === last) await replace(last, true);
    await eventually('a comparison is skipped', async () => (await comparisonsOf(cluster.nodes, 'skipped')) > 0);
    expect(await comparisonsOf(cluster.nodes, 'same')).toBe(0);
    await replace(last, false);
    for (const coordinator of cluster.coordinators) await replace(coordinator, false);
    await eventually('replicas are compared', async () => (await comparisonsOf(cluster.nodes, 'same')) > 0);

    await replace(last, true);
    const before = await comparisonsOf(cluster.nodes, 'same');
    await writes(50);
    expect(await comparisonsOf(cluster.nodes, 'same')).toBe(before);
    for (const member of [second, first, ...cluster.coordinators]) await replace(member, true);
    expect(await protocolsOf(cluster)).toEqual({});
    expect(await comparisonsOf(cluster.nodes, 'different')).toBe(0);
  });
});

/** By node, the protocol that it registered. */
async function protocolsOf(cluster: ClusterProcesses): Promise<Record<string, number | undefined>> {
  const store = cluster.openStore();
  try {
    const { entries } = await store.list(NODES_PREFIX);
    return Object.fromEntries(entries.map(({ value }) => JSON.parse(value) as NodeMember).map(({ id, protocol }) => [id, protocol]));
  } finally {
    await store.close();
  }
}
