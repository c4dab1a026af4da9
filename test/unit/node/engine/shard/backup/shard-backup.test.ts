import { SHARD_MANIFEST } from '../../../../../../shared/backup-store/content-schemas';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupRepository } from '../../../../../../coordinator/jobs/backup/backup-repository';
import { forgetLineage } from '../../../../../../node/engine/shard/backup/lineage';
import { Shard } from '../../../../../../node/engine/shard/shard';
import type { ShardOptions } from '../../../../../../node/engine/shard/shard-options';
import { WriteBudget } from '../../../../../../node/engine/shard/writing/write-queue';
import {
  type BackedUpShard,
  type CheckedObject,
  contentOf,
  type ShardManifest,
} from '../../../../../../shared/backup-store/backup-format';
import type { ShardBackupState } from '../../../../../../shared/contract/shard/shard-backup';
import type { ShardSpec, UpsertOperation } from '../../../../../../shared/contract/shard/shard-client';
import { Pace } from '../../../../../../shared/base/time/pace';
import { eventually } from '../../../../../support/eventually';
import { MemoryTarget } from '../../../../../support/targets/memory-target';
import { LogMemory, openRocksStore, plainFactories } from '../../../../../support/shards/shard-node';

/**
 * Backups of one shard that build upon each other, over a folder that is put back to an earlier state, or end early.
 */

const SPEC: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' };
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** One more: few beside them, so that they are not written again. */
const MORE = `${LETTERS.toUpperCase()}+`;
/** Many beside all that comes later. */
const EARLIER = Array.from({ length: 100 }, (_, n) => `item ${n}`);

/** `before` is done before an object is put, and `beforeGet` before one is read. */
class AskingTarget extends MemoryTarget {
  before: (key: string) => Promise<void> = async () => undefined;
  beforeGet: () => Promise<void> = async () => undefined;

  override async get(key: string): Promise<Buffer | null> {
    await this.beforeGet();
    return super.get(key);
  }

  override async put(key: string, bytes: Buffer): Promise<void> {
    await this.before(key);
    await super.put(key, bytes);
  }
}

let root: string;
let target: AskingTarget;
let taken: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'quiver-shard-backup-'));
  target = new AskingTarget();
  taken = 0;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const folder = (): string => join(root, 'shard');
const lineageFile = (): string => join(folder(), 'backup-lineage');

async function open(spec = SPEC, path = folder()): Promise<Shard> {
  const fail = (error: Error): void => {
    throw error;
  };
  const backups: ShardOptions['backups'] = { open: () => target, pace: new Pace(Infinity) };
  const options = {
    wallMs: () => 0,
    factories: plainFactories,
    openStore: openRocksStore,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: new LogMemory(),
    backups,
  };
  return Shard.open(path, spec, options, {
    budget: new WriteBudget(),
    onDiverged: fail,
    onWriteFailed: fail,
    onDamaged: fail,
  });
}

async function write(shard: Shard, ids: Iterable<string>): Promise<void> {
  const upsert = (externalId: string): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, externalId.charCodeAt(0)),
    stamp: 1,
    metadata: '{}',
    text: externalId,
  });
  await shard.write([...ids].map(upsert));
}

const idOf = (n: number): string => `202601${String(n).padStart(2, '0')}T000000Z-00000000`;

/** The next backup. */
async function backedUp(shard: Shard, base: BackedUpShard | null): Promise<BackedUpShard> {
  const order = { backup: idOf((taken += 1)), target: 'memory', base: base?.manifest ?? null };
  for (;;) {
    const state: ShardBackupState = await shard.read('backup', order);
    if (state.state === 'done')
      return { manifest: state.manifest!, items: state.items, totalBytes: state.totalBytes, needs: state.needs };
    if (state.state === 'failed') throw new Error(`the backup failed: ${state.error}`);
    await new Promise((wake) => setImmediate(wake));
  }
}

async function itemsOf(shard: Shard): Promise<unknown[]> {
  const items = await shard.read('scan', { after: null, limit: 1_000, filter: null, vectors: true });
  return items.map(({ externalId, vector, text }) => [externalId, [...vector!], text]);
}

/** What a shard begins with that is restored from a backup. */
async function restored(shard: BackedUpShard): Promise<unknown[]> {
  const [, id] = shard.manifest.key.split('/');
  const time = new Date(0).toISOString();
  const collections = [{ name: 'c', uid: 'c', record: JSON.stringify({ name: 'c' }), shards: [shard] }];
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
  const opened = await open(
    { ...SPEC, collectionUid: id, seed: { target: 'memory', backup: id, collectionUid: 'c', shards: 1 } },
    join(root, id),
  );
  try {
    return await itemsOf(opened);
  } finally {
    await opened.close();
  }
}

async function closedAndCopied(shard: Shard): Promise<void> {
  await shard.close();
  cpSync(folder(), join(root, 'copy'), { recursive: true });
}

function putBack(): void {
  rmSync(folder(), { recursive: true });
  cpSync(join(root, 'copy'), folder(), { recursive: true });
}

test.each([
  ['gone', (path: string) => rmSync(path)],
  [
    'a folder',
    (path: string) => {
      rmSync(path);
      mkdirSync(path);
    },
  ],
])('where a file of the checkpoint is %s, a backup has no index and all records', async (_, harm) => {
  let shard = await open();
  await write(shard, LETTERS);
  await shard.close();
  shard = await open();
  const checkpoint = readdirSync(folder()).find((name) => name.startsWith('checkpoint-')) as string;
  harm(join(folder(), checkpoint, 'filters'));
  const backup = await backedUp(shard, null);
  expect(manifestOf(backup.manifest).index).toBeNull();
  expect(await restored(backup)).toEqual(await itemsOf(shard));
  await shard.close();
});

const manifestOf = ({ key }: CheckedObject): ShardManifest => contentOf(SHARD_MANIFEST, key, target.objects.get(key)!);

test.each([
  ['fewer', LETTERS.toUpperCase().slice(0, 13)],
  ['more', MORE],
])(
  'a folder that was put back is backed up as it is, though a backup has other records under its numbers (%s)',
  async (_, later) => {
    let shard = await open();
    await write(shard, EARLIER);
    const first = await backedUp(shard, null);
    await write(shard, ['4', '5']);
    await closedAndCopied(shard);

    shard = await open();
    await write(shard, LETTERS);
    const second = await backedUp(shard, first);
    // Built upon what was before, as ever.
    expect(second.needs).toEqual([idOf(1), idOf(2)]);
    await shard.close();

    putBack();
    shard = await open();
    await write(shard, later);
    const third = await backedUp(shard, second);
    expect(third.needs).toEqual([idOf(3)]);
    const items = await itemsOf(shard);
    expect(items).toHaveLength(EARLIER.length + 2 + later.length);
    expect(await restored(third)).toEqual(items);

    // The next one goes on from it.
    await write(shard, ['6']);
    const fourth = await backedUp(shard, third);
    expect(fourth.needs).toEqual([idOf(3), idOf(4)]);
    expect(await restored(fourth)).toEqual(await itemsOf(shard));
    await shard.close();
  },
);

test('a folder that was copied while a backup was under way has not what came into the backup afterwards', async () => {
  let shard = await open();
  await write(shard, EARLIER);
  const first = await backedUp(shard, null);
  await shard.close();
  // With a checkpoint: without one, a lineage ends.
  shard = await open();
  await write(shard, ['4']);
  // Its view comes after the records that were there before.
  target.before = async () => {
    target.before = async () => undefined;
    cpSync(folder(), join(root, 'copy'), { recursive: true });
    await write(shard, LETTERS);
  };
  const second = await backedUp(shard, first);
  expect(second.items).toBe(EARLIER.length + 1 + LETTERS.length);
  await shard.close();

  putBack();
  shard = await open();
  await write(shard, MORE);
  const third = await backedUp(shard, second);
  expect(await restored(third)).toEqual(await itemsOf(shard));
  await shard.close();
});

test('nothing builds upon a backup that was under way when the lineage was forgotten', async () => {
  const shard = await open();
  await write(shard, EARLIER);
  const first = await backedUp(shard, null);
  await write(shard, ['4']);
  target.before = async () => {
    target.before = async () => undefined;
    await forgetLineage(folder());
  };
  const second = await backedUp(shard, first);
  const third = await backedUp(shard, second);
  expect(third.needs).toEqual([idOf(3)]);
  await shard.close();
});

test('positions of phrases go where numbers of records may be given again', async () => {
  let shard = await open();
  await write(shard, EARLIER);
  await shard.read('optimize', null);
  await shard.settled();
  const positions = join(folder(), 'positions');
  expect(readdirSync(positions)).toHaveLength(1);
  // As a crash before the first checkpoint leaves it.
  cpSync(folder(), join(root, 'crashed'), { recursive: true });
  await shard.close();
  rmSync(folder(), { recursive: true });
  cpSync(join(root, 'crashed'), folder(), { recursive: true });
  shard = await open();
  expect(existsSync(positions)).toBe(false);
  await shard.close();
});

test('a base with more operations or records than the shard has is none', async () => {
  const shard = await open();
  await write(shard, EARLIER);
  const first = await backedUp(shard, null);
  const tokens = readFileSync(lineageFile(), 'utf8');
  await write(shard, ['4', '5']);
  await closedAndCopied(shard);
  const ahead = await open(SPEC, join(root, 'copy'));
  await write(ahead, LETTERS);
  // Each would have been one of the shard's own.
  writeFileSync(join(root, 'copy', 'backup-lineage'), tokens);
  const second = await backedUp(ahead, first);
  await ahead.close();
  writeFileSync(lineageFile(), `${manifestOf(second.manifest).lineage}\n`);
  const again = await open();
  expect((await backedUp(again, second)).needs).toEqual([idOf(3)]);
  await again.close();
});

test('what a program before left is built upon, and it builds upon nothing of what is left to it', async () => {
  const shard = await open();
  await write(shard, EARLIER);
  const first = await backedUp(shard, null);
  writeFileSync(lineageFile(), `${manifestOf(first.manifest).lineage}\n`);
  let last = first;
  for (let n = 2; n < 4; n += 1) {
    await write(shard, [`later ${n}`]);
    last = await backedUp(shard, last);
    expect(last.needs).toContain(idOf(1));
    // It took the whole file for one token.
    expect(readFileSync(lineageFile(), 'utf8').trim()).not.toMatch(/^[0-9a-f-]{36}$/);
  }
  for (let n = 4; n < 9; n += 1) await backedUp(shard, last);
  expect(new Set(readFileSync(lineageFile(), 'utf8').trim().split('\n')).size).toBe(8);
  await shard.close();
});

test('of many backups, the last tokens are kept', async () => {
  const shard = await open();
  const all: BackedUpShard[] = [];
  for (let n = 0; n < 20; n += 1) all.push(await backedUp(shard, null));
  const lines = readFileSync(lineageFile(), 'utf8').trim().split('\n');
  expect(lines).toEqual(all.slice(-16).map(({ manifest }) => manifestOf(manifest).lineage));
  await shard.close();
});

test.each(['put', 'get'] as const)(
  'a shard that closes, or is backed up for another order, waits for no target that does not answer (%s)',
  async (call) => {
    const shard = await open();
    await write(shard, EARLIER);
    const first = await backedUp(shard, null);
    const late: ((error: Error) => void)[] = [];
    const waits = (): Promise<never> => new Promise((_, fail) => late.push(fail));
    Object.assign(target, call === 'put' ? { before: waits } : { beforeGet: waits });
    const order = { target: 'memory', base: first.manifest };
    await shard.read('backup', { ...order, backup: idOf(8) });
    await eventually('the target is asked', () => late.length === 1);
    await shard.read('backup', { ...order, backup: idOf(9) });
    await eventually('the target is asked for the next one', () => late.length === 2);
    await shard.close();
    // Nobody is there for what comes later.
    for (const fail of late) fail(new Error('it came too late'));
    await new Promise((wake) => setImmediate(wake));
  },
);

describe('the backup before has an object that is', () => {
  const damages: [string, (key: string) => void][] = [
    ['missing', (key) => void target.objects.delete(key)],
    ['shorter', (key) => void target.objects.set(key, target.objects.get(key)!.subarray(1))],
  ];
  const kinds: [string, (content: ShardManifest) => CheckedObject][] = [
    ['a segment of records', ({ segments }) => segments[0]],
    ['its list of what is there', ({ live }) => live[0]],
    ['a part of the journal', ({ journal }) => journal[0]],
  ];

  test.each(damages.flatMap(([how, act]) => kinds.map(([what, of]) => [how, what, act, of] as const)))(
    '%s: %s. The next one is whole',
    async (_how, _what, act, of) => {
      const shard = await open();
      await write(shard, EARLIER);
      const first = await backedUp(shard, null);
      act(of(contentOf(SHARD_MANIFEST, first.manifest.key, target.objects.get(first.manifest.key)!)).key);
      await write(shard, LETTERS);
      const next = await backedUp(shard, first);
      const expected = await itemsOf(shard);
      await shard.close();
      expect(await restored(next)).toEqual(expected);
    },
  );

  test('a list of what is there in which a bit turned: the next one is whole', async () => {
    const shard = await open();
    await write(shard, EARLIER);
    const first = await backedUp(shard, null);
    const [{ key }] = contentOf(SHARD_MANIFEST, first.manifest.key, target.objects.get(first.manifest.key)!).live;
    target.objects.get(key)![0] ^= 4;
    const next = await backedUp(shard, first);
    const expected = await itemsOf(shard);
    await shard.close();
    expect(await restored(next)).toEqual(expected);
  });
});
