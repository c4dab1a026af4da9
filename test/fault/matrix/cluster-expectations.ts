import type { FileMode } from '../../support/shards/failing-files';
import type { Damage } from './damage';
import type { Moment, Outcome } from './expectations';
import { right, SERVED } from './machine-expectations';

/** What is right where calls about files of a process of a cluster fail, or take longer. Other processes are well. */
export interface MemberRow {
  place: 'node' | 'coordinator' | 'target';
  kind: string;
  /**
   * An extended regular expression of POSIX. `<data>`: the data folder of a process; `<target>`: that of the backups.
   */
  files: string;
  right: Record<FileMode, Record<Moment, readonly Outcome[]>>;
}

/** What is right while etcd is in a state, at each moment. */
export interface EtcdRow {
  kind: string;
  state: 'away' | 'frozen' | 'slow' | 'full disk' | 'error';
  right: Record<Moment, readonly Outcome[]>;
}

/**
 * What is right after a file of a node was damaged while that did not run, and another replica is well. `file`:
 * relative to the data folder.
 */
export interface NodeFileRow {
  kind: string;
  /** `<uid>`: the collection. */
  file: RegExp;
  right: Record<Damage, readonly Outcome[]>;
}

/** Another replica takes over; what was under way meanwhile may be told that it may be retried. */
const HANDED_OVER = ['served', 'waits'] as const;
const all = (...outcomes: Outcome[]): Record<Damage, readonly Outcome[]> => ({
  missing: outcomes,
  truncated: outcomes,
  flipped: outcomes,
});

export const MEMBER_FILES: readonly MemberRow[] = [
  {
    place: 'node',
    kind: 'records and logs of shards',
    files: '^<data>/node/shards/',
    right: {
      full: right(HANDED_OVER),
      error: right(HANDED_OVER),
      slow: right(SERVED),
    },
  },
  {
    place: 'node',
    kind: 'the data folder',
    files: '^<data>/',
    right: {
      full: right(HANDED_OVER, { start: ['served', 'waits', 'ends'] }),
      error: right(HANDED_OVER, { start: ['served', 'waits', 'ends'] }),
      slow: right(SERVED),
    },
  },
  // It keeps no data there, and nothing hangs on what it can't write.
  {
    place: 'coordinator',
    kind: 'the data folder',
    files: '^<data>/',
    right: { full: right(SERVED), error: right(SERVED), slow: right(SERVED) },
  },
  {
    place: 'target',
    kind: 'everything in it',
    files: '^<target>/',
    right: {
      full: right(SERVED, { backup: ['waits'] }),
      error: right(SERVED, { backup: ['waits'] }),
      slow: right(SERVED),
    },
  },
];

/** Reads and writes go on without etcd; what changes the cluster waits for it, or is refused. */
const withoutEtcd = right(['served'], {
  backup: HANDED_OVER,
  reshard: HANDED_OVER,
  // Who leads is decided in etcd: what a node led that stops meanwhile waits for it (docs/operations.md, What failures
  // do).
  stop: HANDED_OVER,
});
export const ETCD_STATES: readonly EtcdRow[] = [
  // A node that starts meanwhile waits for etcd, and others serve for it.
  { kind: 'the only member', state: 'away', right: withoutEtcd },
  { kind: 'the only member', state: 'frozen', right: withoutEtcd },
  { kind: 'the only member', state: 'slow', right: right(SERVED) },
  { kind: 'the only member', state: 'full disk', right: withoutEtcd },
  { kind: 'the only member', state: 'error', right: withoutEtcd },
];

/** Files of a replica. Damaged records are put aside and copied; the rest is made again. */
export const NODE_FILES: readonly NodeFileRow[] = [
  { kind: 'records: table', file: /^node\/shards\/<uid>\/0\/records\/\d+\.sst$/, right: all('copied') },
  // All of it is in the log of the replica as well, which alone is synced: what its end lacks is applied again.
  {
    kind: 'records: write-ahead log',
    file: /^node\/shards\/<uid>\/0\/records\/\d+\.log$/,
    right: { missing: ['copied'], truncated: ['copied', 'served'], flipped: ['copied', 'served'] },
  },
  { kind: 'records: MANIFEST', file: /^node\/shards\/<uid>\/0\/records\/MANIFEST-\d+$/, right: all('copied') },
  { kind: 'records: CURRENT', file: /^node\/shards\/<uid>\/0\/records\/CURRENT$/, right: all('copied') },
  { kind: 'mark of the log', file: /^node\/shards\/<uid>\/0\/log-mark$/, right: all('served', 'copied') },
  { kind: 'checkpoint: manifest', file: /^node\/shards\/<uid>\/0\/MANIFEST\.json$/, right: all('served', 'rebuilt') },
  {
    kind: 'checkpoint: directory',
    file: /^node\/shards\/<uid>\/0\/checkpoint-\d+\/directory$/,
    right: all('served', 'rebuilt'),
  },
  {
    kind: 'vectors: originals',
    file: /^node\/shards\/<uid>\/0\/vectors\/originals-\d+\.f32$/,
    right: all('served', 'rebuilt'),
  },
  {
    kind: 'vectors: saved index',
    file: /^node\/shards\/<uid>\/0\/vectors\/save-[\d-]+\.index$/,
    right: all('served', 'rebuilt'),
  },
  { kind: 'known assignment', file: /^node\/stores\/<uid>\.0\.map$/, right: all('served') },
  { kind: 'note of a store', file: /^node\/notes\/<uid>\.0$/, right: all('served') },
];

/** Files that a node has one of, or without which it does not start: one is tried after the other. */
export const NODE_OWN_FILES: readonly NodeFileRow[] = [
  { kind: 'store of a shard', file: /^node\/stores\/<uid>\.0$/, right: all('served', 'copied', 'ends') },
  // Who is not known takes part in nothing.
  { kind: 'name of the node', file: /^node\/store\.json$/, right: all('ends') },
  {
    kind: 'name of the cluster',
    file: /^node\/cluster\.json$/,
    right: { missing: ['served'], truncated: ['ends'], flipped: ['ends'] },
  },
  {
    kind: 'format of the data folder',
    file: /^format\.json$/,
    right: { missing: ['served'], truncated: ['ends', 'served'], flipped: ['ends', 'served'] },
  },
];
