import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminCall, restored } from '../support/targets/backup-calls';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { seededRandom } from '../support/values/random';
import { contradictionsOf, type RegisterOperation } from '../support/stories/register-history';
import { RegisterWorkload } from '../support/stories/register-workload';

const COLLECTION = 'ledger';
const BALLAST = 500;
/** A process is killed at most so long after a backup or restore began. */
const KILL_WITHIN_MS = 600;

export interface BackupRounds {
  target: 'embedded' | 'cluster';
  rounds: number;
  seed: number;
  /**
   * The share of rounds in which a process dies; never in the last one, so that there is a backup however slow the
   * machine is.
   */
  kills?: number;
  onRound?: (line: string) => void;
}

export interface BackupReport {
  backups: number;
  failed: number;
  kills: number;
  acknowledged: number;
  violations: string[];
}

interface Service {
  call: AdminCall;
  urls: () => string[];
  /** Ends some process hard and starts it again. */
  kill: () => Promise<string>;
  destroy: () => Promise<void>;
}

/**
 * Backups of a collection that clients write, read and delete all the while, each restored into another shape. What is
 * restored must be what the clients could have read at one moment between the call and the end of the backup. In some
 * rounds a process dies meanwhile: then a backup may fail, and must be told as failed and leave nothing.
 */
export async function backupRounds({
  target,
  rounds,
  seed,
  kills = 0.3,
  onRound = () => undefined,
}: BackupRounds): Promise<BackupReport> {
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-backup-rounds-'));
  const service = await (target === 'embedded' ? startEmbedded : startCluster)(folder, random);
  const { call } = service;
  const report: BackupReport = { backups: 0, failed: 0, kills: 0, acknowledged: 0, violations: [] };
  try {
    await call('POST', '/v1/collections', {
      name: COLLECTION,
      dim: 4,
      shards: 3,
      ...(target === 'cluster' && { replicas: 2 }),
    });
    await call('POST', `/v1/collections/${COLLECTION}/bulk_upsert`, {
      items: Array.from({ length: BALLAST }, (_, n) => ({
        external_id: `ballast-${n}`,
        vector: [1, 2, 3, n],
        metadata: { n },
      })),
    });
    const workload = new RegisterWorkload({ urls: service.urls, collection: COLLECTION, seed, clients: 4 });
    const seen: RegisterOperation[] = [];
    try {
      for (let round = 0; round < rounds; round += 1) {
        const enough = workload.acknowledged + 10;
        await eventually('some more writes are acknowledged', () => workload.acknowledged >= enough);
        const told = [`round ${round}`];
        const invokedMs = performance.now();
        const { id } = await persistently(call)('POST', '/v1/admin/backups', { collections: [COLLECTION] });
        if (random() < kills && round < rounds - 1) {
          await pause(random() * KILL_WITHIN_MS);
          told.push(`killed ${await service.kill()}`);
          report.kills += 1;
        }
        let backup: any;
        await eventually(
          `backup ${id} is over`,
          async () =>
            !['running', 'cancelling'].includes(
              (backup = await persistently(call)('GET', `/v1/admin/backups/${id}`)).state,
            ),
        );
        const returnedMs = performance.now();
        report.backups += 1;
        if (backup.state !== 'done') {
          told.push(`the backup ${backup.state}: ${backup.error}`);
          report.failed += 1;
          if (told.length < 3) report.violations.push(`round ${round}: a backup failed in peace: ${backup.error}`);
        } else {
          const shards = 1 + Math.floor(random() * 5);
          const name = `round-${round}`;
          const restore = await restored(persistently(call), {
            backup: id,
            rename: { [COLLECTION]: name },
            shards,
            replicas: 1,
          });
          if (restore.state !== 'done')
            report.violations.push(`round ${round}: the restore ${restore.state}: ${restore.error}`);
          else {
            seen.push(
              ...(await readAll(persistently(call), name, { round, invokedMs, returnedMs }, report.violations)),
            );
            await persistently(call)('DELETE', `/v1/collections/${name}`);
          }
          told.push(`${backup.copied_bytes} of ${backup.total_bytes} bytes, restored into ${shards} shards`);
        }
        if (random() < 0.3) {
          const { backups } = await persistently(call)('GET', '/v1/admin/backups');
          const one = backups[Math.floor(random() * backups.length)];
          if (one !== undefined) await persistently(call)('DELETE', `/v1/admin/backups/${one.id}`);
        }
        onRound(told.join(': '));
      }
    } finally {
      await workload.stop();
    }
    report.acknowledged = workload.acknowledged;
    report.violations.push(...contradictionsOf([...workload.history, ...seen]));
    for (const { id, state } of (await persistently(call)('GET', '/v1/admin/backups')).backups) {
      if (state !== 'done') continue;
      await persistently(call)('POST', `/v1/admin/backups/${id}/verify`);
      let verification: any;
      await eventually(
        'it is verified',
        async () =>
          (verification = (await persistently(call)('GET', `/v1/admin/backups/${id}`)).verification)?.state === 'done',
      );
      if (verification.damaged.length > 0)
        report.violations.push(`backup ${id} lacks ${verification.damaged.join(', ')}`);
    }
    return report;
  } finally {
    await service.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a restored collection holds, as reads that took place at some moment of the backup. */
async function readAll(
  call: AdminCall,
  name: string,
  { round, invokedMs, returnedMs }: { round: number; invokedMs: number; returnedMs: number },
  violations: string[],
): Promise<RegisterOperation[]> {
  const { vectors } = await call('GET', `/v1/collections/${name}/export?limit=100000`);
  const values = new Map<string, any>(vectors.map((one: any) => [one.external_id, one]));
  if (values.size !== vectors.length) violations.push(`round ${round}: an item is there twice`);
  const ballast = vectors
    .filter((one: any) => one.external_id.startsWith('ballast-'))
    .map((one: any) => one.metadata.n);
  if (ballast.length !== BALLAST)
    violations.push(`round ${round}: ${BALLAST - ballast.length} items are lost that nobody changed`);
  return Array.from({ length: 12 }, (_, i): RegisterOperation => {
    const one = values.get(`id-${i}`);
    const value = one === undefined ? null : (one.metadata.value as number);
    if (one !== undefined && one.vector[1] !== value! + 1)
      violations.push(`round ${round}: id-${i} has the vector of another version`);
    return { client: -2 - round, id: `id-${i}`, kind: 'read', value, invokedMs, returnedMs, outcome: 'ok' };
  });
}

async function startEmbedded(folder: string): Promise<Service> {
  const process = new EmbeddedProcess({ environment: { BACKUP_TARGET: `file:${folder}`, HTTP_THREADS: '2' } });
  await process.start();
  return {
    call: (method, path, body) => process.data(method, path, body),
    urls: () => [process.baseUrl],
    kill: async () => {
      await process.kill();
      await process.start();
      return 'the process';
    },
    destroy: () => process.destroy(),
  };
}

async function startCluster(folder: string, random: () => number): Promise<Service> {
  const cluster = await ClusterProcesses.start({
    nodes: 3,
    coordinators: 2,
    environment: { BACKUP_TARGET: `file:${folder}` },
  });
  const running = (): number[] => cluster.coordinators.flatMap(({ isRunning }, i) => (isRunning ? [i] : []));
  return {
    call: (method, path, body) => cluster.data(method, path, body, running()[0]),
    urls: () => running().map((i) => cluster.baseUrl(i)),
    kill: async () => {
      const members = [...cluster.nodes, ...cluster.coordinators];
      const member = members[Math.floor(random() * members.length)];
      await member.kill();
      member.spawn();
      await member.serves();
      return member.id;
    },
    destroy: () => cluster.destroy(),
  };
}

/** Calls again while the service can't answer. */
function persistently(call: AdminCall): AdminCall {
  return async (method, path, body) => {
    let answer: any;
    let failure: Error | null = null;
    await eventually(`${method} ${path} is answered`, async () => {
      try {
        failure = null;
        answer = await call(method, path, body);
        return true;
      } catch (error) {
        failure = error as Error;
        // Refused: asking again changes nothing.
        if (/"code":4\d\d/.test(failure.message)) return true;
        return false;
      }
    });
    if (failure !== null) throw failure as Error;
    return answer;
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}
