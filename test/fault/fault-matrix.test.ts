import { runMatrix } from './matrix/fault-matrix';
import { isRight, lineOf } from './matrix/cell';
import { ETCD_STATES, MEMBER_FILES, NODE_FILES, NODE_OWN_FILES } from './matrix/cluster-expectations';
import {
  BESIDE_SHARD_FILES,
  DISK_SHARD_FILES,
  EMBEDDED_FILES,
  KNOWN_NOT_HELD,
  OUTCOMES,
  SHARD_FILES,
} from './matrix/expectations';
import { MACHINE_FILES } from './matrix/machine-expectations';
import { TARGET_FILES } from './matrix/target-expectations';

/** The fixed part of the matrix of faults, and the matrix as data. All of it: `npm run fault -- --matrix`. */

const KINDS = [...SHARD_FILES, ...DISK_SHARD_FILES, ...BESIDE_SHARD_FILES, ...EMBEDDED_FILES];
/** What is right where calls about files fail, or take longer, and where etcd is in a state. */
const OF_CALLS = [...MACHINE_FILES, ...MEMBER_FILES].flatMap(({ right }) =>
  Object.values(right).flatMap((moments) => Object.values(moments)),
);
/** What is right where files of a cluster are damaged, or objects of a backup. */
const OF_OTHERS = [
  ...[...NODE_FILES, ...NODE_OWN_FILES].flatMap(({ right }) => Object.values(right)),
  ...TARGET_FILES.flatMap(({ right }) => Object.values(right).flatMap((moments) => Object.values(moments))),
];

test('every kind of file says for each damage what is right, in words of the vocabulary, and once', () => {
  expect(new Set(KINDS.map(({ kind }) => kind)).size).toBe(KINDS.length);
  for (const { start, running } of KINDS)
    for (const outcomes of [...Object.values(start), ...Object.values(running)]) {
      expect(outcomes.length).toBeGreaterThan(0);
      for (const outcome of outcomes) expect(Object.keys(OUTCOMES)).toContain(outcome);
    }
});

test('so does every kind of file of which calls fail, every file of a node, every object of a backup and every state of etcd', () => {
  for (const outcomes of [...OF_CALLS, ...OF_OTHERS, ...ETCD_STATES.flatMap(({ right }) => Object.values(right))]) {
    expect(outcomes.length).toBeGreaterThan(0);
    for (const outcome of outcomes) expect(Object.keys(OUTCOMES)).toContain(outcome);
  }
});

test('what is known not to hold names a kind of the matrix and a reason', () => {
  for (const { kind, why } of KNOWN_NOT_HELD) {
    expect(
      [...KINDS, ...MACHINE_FILES, ...MEMBER_FILES, ...ETCD_STATES, ...NODE_FILES, ...NODE_OWN_FILES].map(
        (row) => row.kind,
      ),
    ).toContain(kind);
    expect(why).not.toBe('');
  }
});

test('a table of records and a directory that are damaged are told, rebuilt or refused, at every moment, and nothing beside them is', async () => {
  const { cells, mismatches } = await runMatrix({
    seed: 1,
    only: (kind, place) => place === 'embedded' && ['records: table', 'checkpoint: directory'].includes(kind),
    forms: ['missing', 'bit in the middle'],
    runningForms: ['cut to half'],
    onCell: () => undefined,
  });
  expect(mismatches.filter((cell) => !isRight(cell)).map(lineOf)).toEqual([]);
  expect(cells).toBeGreaterThan(20);
});

test('vectors in which a bit turns while they are in use are told or made anew, and never answered, kept by a patch or copied', async () => {
  const { cells, mismatches } = await runMatrix({
    seed: 1,
    only: (kind, place) => place === 'embedded' && kind === 'vectors: originals',
    forms: ['bit in the middle'],
    runningForms: ['bit in the middle'],
    onCell: () => undefined,
  });
  expect(mismatches.map(lineOf)).toEqual([]);
  expect(cells).toBeGreaterThan(10);
});

test('the folder of a process without the start of its collections does not start, and says what to do', async () => {
  const { mismatches } = await runMatrix({
    seed: 1,
    only: (kind) => kind === 'collections and keys: CURRENT',
    forms: ['cut to nothing'],
    onCell: () => undefined,
  });
  expect(mismatches.map(lineOf)).toEqual([]);
});

test('a segment of records that is damaged in the target is told, and the next backup is whole, at the latest once a verification has found it', async () => {
  const { cells, mismatches } = await runMatrix({
    seed: 1,
    only: (kind) => kind === 'segment of records, embedded',
    onCell: () => undefined,
  });
  expect(mismatches.map(lineOf)).toEqual([]);
  expect(cells).toBe(15);
});

const onFailingFiles = process.platform === 'linux' ? test : test.skip;

onFailingFiles(
  'a shard whose disk fails, at every moment, goes on by itself when it does no more, also where a start met it',
  async () => {
    const { cells, mismatches } = await runMatrix({
      seed: 1,
      only: (kind) => kind === 'records of a shard',
      faults: ['error'],
      onCell: () => undefined,
    });
    expect(mismatches.map(lineOf)).toEqual([]);
    expect(cells).toBe(7);
  },
);
