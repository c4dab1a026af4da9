import { ClusterProcesses, SECRET } from '../../support/processes/cluster-processes';
import { smallerBytes } from '../byte-mutation';
import { Canary } from '../canary';
import type { FuzzTarget } from '../fuzz-target';
import { faultsOfProbe, faultsOfProcess } from '../process-oracle';
import { type RpcCase, runRpcCase } from './rpc-case';
import { RpcCases } from './rpc-cases';

/** The entry of the collection whose shard the frames are about. */
const FUZZED_ENTRY = '/q/collections/fuzzed';

/**
 * A storage node and a coordinator with their etcd. Members are trusted with the shard they name, not with the process.
 */
export class RpcTarget implements FuzzTarget<RpcCase> {
  readonly name = 'rpc';
  readonly casesPerCheck = 25;
  private cluster: ClusterProcesses | null = null;
  private cases: RpcCases | null = null;

  constructor(private readonly environment: Record<string, string> = {}) {}

  async start(): Promise<void> {
    const cluster = await ClusterProcesses.start({
      nodes: 1,
      coordinators: 1,
      replicas: 1,
      shards: 1,
      environment: this.environment,
    });
    this.cluster = cluster;
    await Canary.store((method, path, body) => cluster.call(method, path, body));
    await cluster.data('POST', '/v1/collections', { name: 'fuzzed', dim: 3 });
    await cluster.data('POST', '/v1/collections/fuzzed/upsert', {
      external_id: 'seed-0',
      vector: [1, 2, 3],
      text: 'seed words',
      metadata: { a: 1 },
    });
    const store = cluster.openStore();
    try {
      const { entries } = await store.list(FUZZED_ENTRY);
      this.cases = new RpcCases((JSON.parse(entries[0].value) as { uid: string }).uid);
    } finally {
      await store.close();
    }
  }

  generate(random: () => number): RpcCase {
    if (this.cases === null) throw new Error('not started');
    return this.cases.generate(random);
  }

  run(given: RpcCase): Promise<string[]> {
    const { nodes, coordinators } = this.running;
    return runRpcCase(given.to === 'node' ? nodes[0].port : coordinators[0].rpcPort, SECRET, given);
  }

  async check(): Promise<string[]> {
    const { nodes, coordinators } = this.running;
    const members = [...nodes, ...coordinators];
    const faults = members.flatMap((member) =>
      faultsOfProcess({ name: member.id, pid: member.isRunning ? member.pid : null, output: member.output }),
    );
    for (const member of members) faults.push(...(await faultsOfProbe(member.id, member.opsPort)));
    if (faults.some((fault) => fault.startsWith('death'))) return faults;
    const { wrong, refused } = await Canary.look((method, path, body) => this.running.call(method, path, body)).catch(
      (error: Error) => ({ wrong: [`canary: ${error.message}`], refused: [] }),
    );
    return [...faults, ...wrong, ...refused.map((what) => `canary: refused, ${what}`)];
  }

  shrink(given: RpcCase): RpcCase[] {
    if (given.kind === 'bytes')
      return smallerBytes(Buffer.concat(given.pieces.map((piece) => Buffer.from(piece, 'base64')))).map((bytes) => ({
        ...given,
        pieces: [bytes.toString('base64')],
      }));
    if (given.frames.length > 1)
      return given.frames.map((_, i) => ({ ...given, frames: given.frames.filter((_frame, place) => place !== i) }));
    return smallerBytes(Buffer.from(given.frames[0], 'base64')).map((bytes) => ({
      ...given,
      frames: [bytes.toString('base64')],
    }));
  }

  async stop(): Promise<void> {
    await this.cluster?.destroy();
    this.cluster = null;
  }

  private get running(): ClusterProcesses {
    if (this.cluster === null) throw new Error('not started');
    return this.cluster;
  }
}
