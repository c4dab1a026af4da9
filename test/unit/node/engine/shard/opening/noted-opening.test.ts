import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { shardNoteName, StoreNotes } from '../../../../../../node/engine/kv/store-notes';
import { keptAside, NotedOpening } from '../../../../../../node/engine/shard/opening/noted-opening';
import { WriteBudget } from '../../../../../../node/engine/shard/writing/write-queue';
import { QuiverError } from '../../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../../shared/base/logs/logger';
import { openRocksStore, plainFactories } from '../../../../../support/shards/shard-node';

/** What becomes of what is left of a shard whose loss was accepted. */

const SPEC = { collectionUid: 'c', shard: 1, dim: 2, metric: 'ip' } as const;

let dataDir: string;
let folder: string;
let notes: StoreNotes;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'quiver-noted-'));
  folder = join(dataDir, 'shards', 'c', '1');
  mkdirSync(dirname(folder), { recursive: true });
  notes = await StoreNotes.load(join(dataDir, 'notes'), silentLogger);
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Leaves a folder that can't be opened as a shard. */
function leave(lifecycle: string, text: string): void {
  mkdirSync(join(lifecycle, 'records'), { recursive: true });
  writeFileSync(join(lifecycle, 'records', 'CURRENT'), text);
}

/** `fails`: whether a store may be made. */
async function openAccepted(fails = false): Promise<void> {
  const options = {
    factories: plainFactories,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: silentLogger,
    openStore: async (...call: Parameters<typeof openRocksStore>) => {
      if (fails && call[1]?.mustExist !== true) throw new Error('the disk is full');
      return openRocksStore(...call);
    },
  };
  const dependencies = {
    budget: new WriteBudget(),
    onDiverged: () => undefined,
    onWriteFailed: () => undefined,
    onDamaged: () => undefined,
  };
  const shard = await new NotedOpening(options, notes).open(folder, SPEC, true, dependencies);
  expect(shard.lastOperation).toBe(0);
  await shard.close('closed');
}

const textOf = (lifecycle: string): string => readFileSync(join(lifecycle, 'records', 'CURRENT'), 'utf8');

test('what was put aside before an attempt that failed stays', async () => {
  leave(folder, 'what was left');
  await notes.acceptLoss(shardNoteName(SPEC));
  await expect(openAccepted(true)).rejects.toThrow('the disk is full');
  expect(textOf(`${folder}.retired`)).toBe('what was left');
  rmSync(folder, { recursive: true, force: true });
  await openAccepted();
  expect(textOf(`${folder}.retired`)).toBe('what was left');
});

test('what was put aside before stays beside what is put aside now, and goes with the shard', async () => {
  for (const text of ['first', 'second', 'third']) {
    rmSync(folder, { recursive: true, force: true });
    leave(folder, text);
    await notes.acceptLoss(shardNoteName(SPEC));
    await openAccepted();
  }
  expect([`${folder}.retired`, `${folder}-2.retired`, `${folder}-3.retired`].map(textOf)).toEqual([
    'first',
    'second',
    'third',
  ]);
  for (const other of ['11.retired', '11-2.retired', '1', '2.retired'])
    mkdirSync(join(dirname(folder), other), { recursive: true });
  expect((await keptAside(folder)).sort()).toEqual([`${folder}-2.retired`, `${folder}-3.retired`, `${folder}.retired`]);
  expect(readdirSync(dirname(folder))).toHaveLength(7);
});

test('a shard of which nothing is left takes nothing along that was put aside', async () => {
  leave(`${folder}.retired`, 'before');
  await notes.acceptLoss(shardNoteName(SPEC));
  await openAccepted();
  expect(textOf(`${folder}.retired`)).toBe('before');
});

test.each([
  ['IO error: No space left on device: While appending to file: /a/b', 'the disk is full'],
  ['While open a file for lock: /a/LOCK: Read-only file system', 'the file system is read-only'],
])('a disk that takes nothing is told in plain words, without a path (%s)', async (words, told) => {
  const openStore = async (): Promise<never> => {
    throw new QuiverError('storage_failed', `the store in ${folder} cannot be opened: ${words}`, {
      cause: new Error(words),
    });
  };
  const options = { factories: plainFactories, recallTarget: 0.99, buildThreads: 1, logger: silentLogger, openStore };
  const dependencies = {
    budget: new WriteBudget(),
    onDiverged: () => undefined,
    onWriteFailed: () => undefined,
    onDamaged: () => undefined,
  };
  const opened = new NotedOpening(options, notes).open(folder, SPEC, false, dependencies);
  await expect(opened).rejects.toMatchObject({
    kind: 'storage_failed',
    message: `${told}: a shard that is not open can't be opened, also for reads, until the disk takes writes again`,
  });
});
