import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { leadAndWrite, ledBy, SPEC, started } from '../support/cluster/opened-replicas';

/** Replicas whose data are lost while their node is down. Beside each other: mostly each waits for a lease. */

const LOST = { kind: 'storage_damaged' };
type Lose = (data: string, copy: string) => void;
/**
 * What is gone or changed of the only replica of a shard, while the node is down. `copy`: its data of before the last
 * write.
 */
const LOSSES: [string, Lose][] = [
  ['whose folder is gone', (data) => rmSync(data, { recursive: true })],
  ['whose records are gone', (data) => rmSync(join(data, 'records'), { recursive: true })],
  [
    'of which an empty folder is left',
    (data) => {
      rmSync(data, { recursive: true });
      mkdirSync(join(data, 'records'), { recursive: true });
    },
  ],
  [
    'whose store says no more which files it has',
    (data) => ['CURRENT', 'SYNCED'].forEach((name) => rmSync(join(data, 'records', name))),
  ],
  [
    'whose manifest is gone',
    (data) =>
      rmSync(
        join(
          data,
          'records',
          readdirSync(join(data, 'records')).find((name) => name.startsWith('MANIFEST'))!,
        ),
      ),
  ],
  [
    'in whose place an earlier copy is',
    (data, copy) => {
      rmSync(data, { recursive: true });
      cpSync(copy, data, { recursive: true });
    },
  ],
];

/** A test with a data folder of its own. */
function onItsFolder(
  story: (folder: string, what: string, lose: Lose) => Promise<void>,
): (what: string, lose: Lose) => Promise<void> {
  return async (what, lose) => {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-lost-replica-'));
    try {
      await story(folder, what, lose);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

test.concurrent.each(LOSSES)(
  'the only replica of a shard %s stays closed, and serves again once its data are back',
  onItsFolder(async (folder, what, lose) => {
    const data = join(folder, 'shards', 'c', '0');
    await leadAndWrite(folder, ledBy('a', []));
    cpSync(data, join(folder, 'earlier'), { recursive: true });
    await leadAndWrite(folder, { ...ledBy('a', []), epoch: 2 });
    cpSync(data, join(folder, 'whole'), { recursive: true });
    lose(data, join(folder, 'earlier'));
    const before = filesBelow(data);
    const { stores, open } = await started(folder);
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(open({ ...ledBy('a', []), epoch: 2 })).rejects.toMatchObject(LOST);
    expect(stores.idOf(SPEC)).toBe('store of a');
    // Nothing was made in their place; a copy has to be looked into.
    if (!what.includes('earlier copy'))
      expect(filesBelow(data).filter((path) => !path.endsWith('LOCK'))).toEqual(
        before.filter((path) => !path.endsWith('LOCK')),
      );
    rmSync(data, { recursive: true, force: true });
    cpSync(join(folder, 'whole'), data, { recursive: true });
    const back = await (await started(folder)).open({ ...ledBy('a', []), epoch: 3 });
    expect(back.replica.status()).toMatchObject({ role: 'primary' });
    expect(back.replica.status().lastSequence).toBeGreaterThanOrEqual(2);
    await back.close('closed');
  }),
);

test.concurrent.each(LOSSES)(
  'a replica of a shard %s begins anew as another store where another one has everything',
  onItsFolder(async (folder, _what, lose) => {
    const data = join(folder, 'shards', 'c', '0');
    await leadAndWrite(folder, ledBy('a', []));
    cpSync(data, join(folder, 'earlier'), { recursive: true });
    await leadAndWrite(folder, { ...ledBy('a', []), epoch: 2 });
    lose(data, join(folder, 'earlier'));
    const { stores, open } = await started(folder);
    const back = await open({ ...ledBy('a', ['b']), epoch: 3 });
    expect(stores.idOf(SPEC)).not.toBe('store of a');
    expect(back.replica.status()).toMatchObject({ role: 'follower', lastSequence: 0 });
    await back.close('closed');
  }),
);

function filesBelow(path: string): string[] {
  return existsSync(path) ? (readdirSync(path, { recursive: true }) as string[]).sort() : [];
}
