import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupRepository } from '../../../../../coordinator/jobs/backup/backup-repository';
import { Shard } from '../../../../../node/engine/shard/shard';
import type { ShardOptions } from '../../../../../node/engine/shard/shard-options';
import { WriteBudget } from '../../../../../node/engine/shard/writing/write-queue';
import { originalsBytes, SAVE_HEAD_BYTES } from '../../../../../node/engine/vector/saved-originals';
import {
  type BackedUpShard,
  contentOf,
  putChecked,
  sealedText,
  type ShardManifest,
} from '../../../../../shared/backup-store/backup-format';
import { SHARD_MANIFEST } from '../../../../../shared/backup-store/content-schemas';
import type { ShardBackupState } from '../../../../../shared/contract/shard/shard-backup';
import type { ShardSpec } from '../../../../../shared/contract/shard/shard-client';
import { Pace } from '../../../../../shared/base/time/pace';
import { MemoryTarget } from '../../../../support/targets/memory-target';
import { diskFactories, LogMemory, nativeFactories, openRocksStore } from '../../../../support/shards/shard-node';

/** What a backup of a shard copies, beside what the shard holds: files have room for more in them, most of it holes. */

const DIM = 384;
const SPEC: ShardSpec = { collectionUid: 'c', shard: 0, dim: DIM, metric: 'cosine' };
/** What files and lists begin with, whatever is in them. */
const FIXED_BYTES = 8 * 1024;

let root: string;
let target: MemoryTarget;
let log: LogMemory;
let taken: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'quiver-backed-up-bytes-'));
  target = new MemoryTarget();
  log = new LogMemory();
  taken = 0;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function open(spec = SPEC, path = join(root, 'shard')): Promise<Shard> {
  const fail = (error: Error): void => {
    throw error;
  };
  const backups: ShardOptions['backups'] = { open: () => target, pace: new Pace(Infinity) };
  const factories = spec.vectors === 'disk' ? diskFactories : nativeFactories;
  const options = {
    wallMs: () => 0,
    factories,
    openStore: openRocksStore,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: log,
    backups,
  };
  return Shard.open(path, spec, options, {
    budget: new WriteBudget(),
    onDiverged: fail,
    onWriteFailed: fail,
    onDamaged: fail,
  });
}

const vectorOf = (n: number): Float32Array => Float32Array.from({ length: DIM }, (_, i) => Math.sin(n * DIM + i));

async function write(shard: Shard, from: number, count: number): Promise<void> {
  for (let at = from; at < from + count; at += 500) {
    const numbers = Array.from({ length: Math.min(500, from + count - at) }, (_, i) => at + i);
    await shard.write(
      numbers.map((n) => ({
        type: 'upsert' as const,
        externalId: `item-${n}`,
        vector: vectorOf(n),
        stamp: n + 1,
        metadata: `{"n":${n}}`,
        text: undefined,
      })),
    );
  }
}

const idOf = (n: number): string => `202601${String(n).padStart(2, '0')}T000000Z-00000000`;

async function backedUp(shard: Shard, base: BackedUpShard | null): Promise<BackedUpShard & { copiedBytes: number }> {
  const order = { backup: idOf((taken += 1)), target: 'memory', base: base?.manifest ?? null };
  for (;;) {
    const state: ShardBackupState = await shard.read('backup', order);
    if (state.state === 'done')
      return {
        manifest: state.manifest!,
        items: state.items,
        totalBytes: state.totalBytes,
        needs: state.needs,
        copiedBytes: state.copiedBytes,
      };
    if (state.state === 'failed') throw new Error(`the backup failed: ${state.error}`);
    await new Promise((wake) => setImmediate(wake));
  }
}

/** Opens what a backup has as another shard. */
async function restored(shard: BackedUpShard, spec = SPEC): Promise<Shard> {
  const [, id] = shard.manifest.key.split('/');
  const time = new Date(0).toISOString();
  const collections = [
    {
      name: 'c',
      uid: 'c',
      record: JSON.stringify({ name: 'c' }),
      shards: [{ manifest: shard.manifest, items: shard.items, totalBytes: shard.totalBytes, needs: shard.needs }],
    },
  ];
  await new BackupRepository(target, () => 0).publish({
    id,
    startedAt: time,
    finishedAt: time,
    version: '',
    scheduled: false,
    collections,
    keys: [],
    copiedBytes: 0,
    totalBytes: 0,
  });
  return open(
    { ...spec, collectionUid: id, seed: { target: 'memory', backup: id, collectionUid: 'c', shards: 1 } },
    join(root, id),
  );
}

async function idsAndVectors(shard: Shard): Promise<unknown[]> {
  const items = await shard.read('scan', { after: null, limit: 10_000, filter: null, vectors: true });
  return items.map(({ externalId, vector }) => [externalId, vector![0], vector![DIM - 1]]);
}

/** Vectors are in the records and in the index. */
const dataOf = (items: number): number => items * 2 * (DIM * Float32Array.BYTES_PER_ELEMENT + 64);

const manifestOf = ({ manifest }: BackedUpShard): ShardManifest =>
  contentOf(SHARD_MANIFEST, manifest.key, target.objects.get(manifest.key)!);

const originalsOf = (folder: string): string =>
  join(
    folder,
    'vectors',
    readdirSync(join(folder, 'vectors')).find((name) => name.endsWith('.f32'))!,
  );

test.each(['memory', 'disk'] as const)(
  'a backup of one item copies what it takes, also after a restart, and so does the next one (vectors: %s)',
  async (vectors) => {
    const spec = { ...SPEC, vectors };
    let shard = await open(spec);
    await write(shard, 0, 1);
    expect((await backedUp(shard, null)).copiedBytes).toBeLessThan(dataOf(1) + FIXED_BYTES);
    await shard.close();
    shard = await open(spec);
    const whole = await backedUp(shard, null);
    expect(whole.copiedBytes).toBeLessThan(dataOf(1) + FIXED_BYTES);
    expect(whole.totalBytes).toBe(whole.copiedBytes);
    await write(shard, 1, 1);
    expect((await backedUp(shard, whole)).copiedBytes).toBeLessThan(dataOf(1) + FIXED_BYTES);
    await shard.close();
  },
);

test('a backup of some thousand items copies no more than a tenth beyond what they take, and is restored with its index', async () => {
  const count = 3_000;
  let shard = await open();
  await write(shard, 0, count);
  const first = await backedUp(shard, null);
  expect(first.copiedBytes).toBeLessThan(dataOf(count) * 1.1);
  await shard.close();
  shard = await open();
  const second = await backedUp(shard, null);
  expect(second.copiedBytes).toBeLessThan(dataOf(count) * 1.1);
  expect(manifestOf(second).index).not.toBeNull();
  const again = await restored(second);
  expect(await idsAndVectors(again)).toEqual(await idsAndVectors(shard));
  // It needed nothing of the records to search.
  expect(log.messages('warn')).toEqual([]);
  const found = await again.read('search', {
    vector: vectorOf(17),
    k: 1,
    effort: { type: 'exact' },
    filter: null,
    texts: false,
  });
  expect(found.hits[0].externalId).toBe('item-17');
  // It grows and starts again as any other.
  await write(again, count, 100);
  await again.close();
  for (const one of [shard]) await one.close();
});

test('the room behind the vectors that backups of earlier versions have is left out of what is restored', async () => {
  let shard = await open();
  await write(shard, 0, 3);
  await shard.close();
  shard = await open();
  const backup = await backedUp(shard, null);
  const manifest = manifestOf(backup);
  const originals = manifest.index!.files.find(({ path }) => path.endsWith('.f32'))!;
  const [part] = originals.parts;
  // As they wrote it: the whole file in parts of 8 MiB.
  const room = 8 * 1024 * 1024;
  const first = await putChecked(
    target,
    `${part.key}-first`,
    Buffer.concat([target.objects.get(part.key)!, Buffer.alloc(room - part.bytes)]),
  );
  const later = await putChecked(target, `${part.key}-later`, Buffer.alloc(room));
  originals.parts = [first, later];
  originals.bytes = 2 * room;
  const asBefore = { ...backup, manifest: await putChecked(target, backup.manifest.key, sealedText(manifest)) };
  const again = await restored(asBefore);
  expect(await idsAndVectors(again)).toEqual(await idsAndVectors(shard));
  expect(log.messages('warn')).toEqual([]);
  await again.close();
  expect(statSync(originalsOf(join(root, idOf(1)))).blocks * 512).toBeLessThan(room / 8);
  await shard.close();
});

test('where the vectors are fewer than the saved index has, a backup has no index and all records', async () => {
  let shard = await open();
  await write(shard, 0, 20);
  await shard.close();
  shard = await open();
  truncateSync(originalsOf(join(root, 'shard')), DIM * 4);
  const backup = await backedUp(shard, null);
  expect(manifestOf(backup).index).toBeNull();
  expect(backup.items).toBe(20);
  await shard.close();
});

test('how many bytes a save needs is read from its first bytes, and from nothing else', () => {
  const head = Buffer.alloc(SAVE_HEAD_BYTES);
  expect(originalsBytes(head)).toBeNull();
  head.write('QVRVEC');
  head.writeUInt16LE(5, 6);
  head.writeUInt32LE(768, 12);
  head.writeBigUInt64LE(1_000n, 16);
  expect(originalsBytes(head)).toBe(1_000 * 768 * 4);
  expect(originalsBytes(head.subarray(1))).toBeNull();
  head.writeBigUInt64LE(2n ** 60n, 16);
  expect(originalsBytes(head)).toBeNull();
});
