import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterUnderTest, LinkUnderTest, ProcessUnderTest } from './cluster-under-test';
import { API_KEY, ClusterProcesses, type ClusterOptions } from './cluster-processes';
import { HAS_DISKS_UNDER_TEST } from '../machines/disk-under-test';
import type { MemberProcess } from './member-process';
import { TcpProxy } from '../servers/tcp-proxy';

/**
 * A whole cluster of real processes, each member reached and reaching etcd by proxies of its own: its advertised
 * address is one, so that a cut link separates it from every peer that calls it while its own calls still leave.
 */
export async function startProcessesUnderTest(options: ClusterOptions = {}): Promise<ClusterUnderTest> {
  const proxies: TcpProxy[] = [];
  const links: LinkUnderTest[] = [];
  const linkTo = async (name: string, port: number): Promise<string> => {
    const proxy = await TcpProxy.start(port);
    proxies.push(proxy);
    links.push({
      name,
      cut: () => proxy.cut(),
      silence: () => proxy.silence(),
      swallowRequests: () => proxy.swallowRequests(),
      swallowAnswers: () => proxy.swallowAnswers(),
      slow: (delayMs) => proxy.slow(delayMs),
      restore: () => proxy.restore(),
    });
    return proxy.endpoint;
  };
  const cluster = await ClusterProcesses.start({
    disks: HAS_DISKS_UNDER_TEST,
    ...options,
    environmentOf: async (id, { rpcPort, etcdPort }) => ({
      ADVERTISE_ADDRESS: await linkTo(`peers to ${id}`, rpcPort),
      ETCD_ENDPOINTS: await linkTo(`${id} to etcd`, etcdPort),
    }),
  });
  const members = [...cluster.nodes, ...cluster.coordinators].map(memberUnderTest);
  const { etcd } = cluster;
  let isEtcdRunning = true;
  const etcdProcess: ProcessUnderTest = {
    role: 'etcd',
    id: 'etcd',
    get pid() {
      return etcd.pid;
    },
    get isRunning() {
      return isEtcdRunning;
    },
    kill: async () => {
      await etcd.kill();
      isEtcdRunning = false;
    },
    stop: async () => {
      await etcd.stop();
      isEtcdRunning = false;
    },
    start: async () => {
      await etcd.start();
      isEtcdRunning = true;
    },
  };
  return {
    adminKey: API_KEY,
    coordinators: () => cluster.coordinators.map((_, i) => cluster.baseUrl(i)),
    processes: () => [...members, etcdProcess],
    links: () => links,
    disks: () =>
      [...cluster.disks].map(([id, disk]) => ({
        name: `disk of ${id}`,
        hang: () => disk.hang(),
        slow: (milliseconds) => disk.slow(milliseconds),
        restore: () => disk.restore(),
      })),
    loseShard: async (id, random) => {
      const node = cluster.nodes.find((one) => one.id === id)!;
      await node.kill();
      // An etcd that gives no answer says nothing of the others.
      if (!(await cluster.staysSpared(node).catch(() => false))) return;
      const shards = join(node.dataDir, 'node', 'shards');
      const folders = readdirSync(shards).flatMap((uid) =>
        readdirSync(join(shards, uid)).map((shard) => join(shards, uid, shard)),
      );
      if (folders.length > 0) rmSync(folders[Math.floor(random * folders.length)], { recursive: true });
    },
    inSync: () => cluster.inSync(),
    settled: async () => {
      await cluster.allUp();
      await cluster.settled();
    },
    differences: () => cluster.differences(),
    strays: () => cluster.strays(),
    evidence: () => cluster.evidence(),
    destroy: async () => {
      await cluster.destroy();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}

function memberUnderTest(member: MemberProcess): ProcessUnderTest {
  return {
    role: member.role,
    id: member.id,
    get pid() {
      return member.pid;
    },
    get isRunning() {
      return member.isRunning;
    },
    kill: () => member.kill(),
    stop: async () => void (await member.stop()),
    start: async () => member.spawn(),
  };
}
