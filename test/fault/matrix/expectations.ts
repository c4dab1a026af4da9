import type { Damage } from './damage';

/** What becomes of the service where a part of the machine fails. Nothing else is right in any case. */
export const OUTCOMES = {
  served: 'every answer is right, and nothing has to be told',
  rebuilt: 'every answer is right, and the log says what was made anew',
  copied: 'every answer is right, and the replica is put aside and copied from another one',
  refused: 'what needs the part is refused by name, with the ways out; everything else is served',
  told: 'every answer about the data is right; what lacks something beside them says so',
  waits:
    'what needs the part is refused or waits while the fault lasts, everything else is served, and it goes on by itself afterwards',
  ends: 'the process does not start, or ends: with an exit code and one line that says what is wrong and what to do',
} as const;
export type Outcome = keyof typeof OUTCOMES;

/** When a fault is there: the first thing that meets it. */
export const MOMENTS = ['start', 'load', 'search', 'backup', 'reshard', 'stop'] as const;
export type Moment = (typeof MOMENTS)[number];

/** What is right for a kind of file. Several outcomes: each is, because the file may or may not be read again. */
export interface KindRow {
  kind: string;
  /** Paths relative to the folder of the part. */
  file: RegExp;
  /** Damaged while the process does not run: what its start and every call afterwards come to. */
  start: Record<Damage, readonly Outcome[]>;
  /**
   * Damaged while the process runs: what each of the other moments comes to. The next start comes to what `start` says,
   * or the file was written again.
   */
  running: Record<Damage, readonly Outcome[]>;
}

/** A part of the matrix that can't be tried, or that another test tries: why, or which. */
export interface NotTried {
  place: string;
  kind: string;
  fault: string;
  why: string;
}

/** A cell that is not as it should be, and is known: it is shown in each run. */
export interface NotHeld {
  kind: string;
  moment: RegExp;
  seen: RegExp;
  why: string;
}

const all = (...outcomes: Outcome[]): Record<Damage, readonly Outcome[]> => ({
  missing: outcomes,
  truncated: outcomes,
  flipped: outcomes,
});
/** Is read again only when it is needed, so that what was read before may do. */
const whenRead = (outcome: Outcome): Record<Damage, readonly Outcome[]> => ({
  missing: ['served'],
  truncated: ['served', outcome],
  flipped: ['served', outcome],
});

/**
 * Is mapped: who meets that it was cut, or that a bit of what it reads is another one, is refused, and the shard is
 * opened again from its records.
 */
const whileMapped: Record<Damage, readonly Outcome[]> = {
  missing: ['served'],
  truncated: ['served', 'rebuilt', 'waits', 'told'],
  flipped: ['served', 'rebuilt', 'waits', 'told'],
};

/** The folder of a shard, in which records are the truth and all else follows from them. */
export const SHARD_FILES: readonly KindRow[] = [
  { kind: 'records: table', file: /^records\/\d+\.sst$/, start: all('refused'), running: whenRead('refused') },
  {
    kind: 'records: write-ahead log',
    file: /^records\/\d+\.log$/,
    start: all('refused'),
    running: whenRead('refused'),
  },
  { kind: 'records: MANIFEST', file: /^records\/MANIFEST-\d+$/, start: all('refused'), running: whenRead('refused') },
  { kind: 'records: CURRENT', file: /^records\/CURRENT$/, start: all('refused'), running: whenRead('refused') },
  // The name of the store: another name is that of another store, which may not take this one's place. RocksDB makes a
  // missing one again.
  {
    kind: 'records: IDENTITY',
    file: /^records\/IDENTITY$/,
    start: { missing: ['served'], truncated: ['served', 'refused'], flipped: ['refused'] },
    running: all('served'),
  },
  // Empty: the lock is that of the kernel.
  { kind: 'records: LOCK', file: /^records\/LOCK$/, start: all('served'), running: all('served') },
  // Without the mark, the end of the log is taken for what it is; one that does not match is damage.
  {
    kind: 'records: SYNCED',
    file: /^records\/SYNCED$/,
    start: { missing: ['served', 'refused'], truncated: ['served', 'refused'], flipped: ['served', 'refused'] },
    running: all('served'),
  },
  {
    kind: 'checkpoint: manifest',
    file: /^MANIFEST\.json$/,
    start: { missing: ['served', 'rebuilt'], truncated: ['rebuilt'], flipped: ['rebuilt'] },
    running: all('served'),
  },
  { kind: 'checkpoint: directory', file: /^checkpoint-\d+\/directory$/, start: all('rebuilt'), running: all('served') },
  {
    kind: 'checkpoint: filter index',
    file: /^checkpoint-\d+\/filters$/,
    start: all('rebuilt'),
    running: all('served'),
  },
  { kind: 'checkpoint: text index', file: /^checkpoint-\d+\/keywords$/, start: all('rebuilt'), running: all('served') },
  {
    kind: 'vectors: originals',
    file: /^vectors\/originals-\d+\.f32$/,
    start: all('rebuilt', 'served'),
    running: whileMapped,
  },
  {
    kind: 'vectors: saved index',
    file: /^vectors\/save-[\d-]+\.index$/,
    start: all('rebuilt'),
    running: all('served'),
  },
  // Without it, the next backup of the shard is a whole one.
  { kind: 'lineage of backups', file: /^backup-lineage$/, start: all('served'), running: all('served') },
];

/** Those that only a collection with its vectors on the disk has. */
export const DISK_SHARD_FILES: readonly KindRow[] = [
  {
    kind: 'vectors on disk: list of segments',
    file: /^vectors\/save-\d+\.json$/,
    start: all('rebuilt'),
    running: all('served'),
  },
  {
    kind: 'vectors on disk: originals of a segment',
    file: /^vectors\/segment-\d+\/originals-\d+\.f32$/,
    start: all('rebuilt', 'served'),
    running: whileMapped,
  },
  // Removed by who has them open they are still read.
  { kind: 'metadata on disk', file: /^metadata\/[0-9a-f]+$/, start: all('served', 'rebuilt'), running: whileMapped },
  {
    kind: 'vectors on disk: index of a segment',
    file: /^vectors\/segment-\d+\/save-\d+\.index$/,
    start: all('rebuilt', 'served'),
    running: whileMapped,
  },
];

/** What lies beside the shards of a collection. `<uid>`: that of the collection. */
export const BESIDE_SHARD_FILES: readonly KindRow[] = [
  {
    kind: 'record of the collection beside its shards',
    file: /^node\/shards\/<uid>\/collection\.json$/,
    start: all('served'),
    running: all('served'),
  },
  // It says whether a folder is an earlier copy; who takes it away takes that knowledge.
  { kind: 'note of a store', file: /^notes\/<uid>\.\d+$/, start: all('served'), running: all('served') },
];

/** The folder of an embedded process, without its shards. */
export const EMBEDDED_FILES: readonly KindRow[] = [
  {
    kind: 'format of the data folder',
    file: /^format\.json$/,
    start: { missing: ['served'], truncated: ['served', 'ends'], flipped: ['served', 'ends'] },
    running: all('served'),
  },
  // Its last byte is the end of the line, without which or with another space in its place it is whole.
  {
    kind: 'secret of backups',
    file: /^backup-secret$/,
    start: { missing: ['told'], truncated: ['served', 'told'], flipped: ['served', 'told'] },
    running: all('served'),
  },
  {
    kind: 'check of the secret of backups',
    file: /^backup-secret\.check$/,
    start: all('served'),
    running: all('served'),
  },
  {
    kind: 'collections and keys: table',
    file: /^cluster\/\d+\.sst$/,
    start: all('ends'),
    running: whenRead('refused'),
  },
  {
    kind: 'collections and keys: write-ahead log',
    file: /^cluster\/\d+\.log$/,
    start: all('ends'),
    running: whenRead('refused'),
  },
  {
    kind: 'collections and keys: MANIFEST',
    file: /^cluster\/MANIFEST-\d+$/,
    start: all('ends'),
    running: whenRead('refused'),
  },
  {
    kind: 'collections and keys: CURRENT',
    file: /^cluster\/CURRENT$/,
    start: all('ends'),
    running: whenRead('refused'),
  },
  // As that of records: what has another name is another store.
  {
    kind: 'collections and keys: IDENTITY',
    file: /^cluster\/IDENTITY$/,
    start: { missing: ['served'], truncated: ['served', 'ends'], flipped: ['ends'] },
    running: all('served'),
  },
  { kind: 'collections and keys: LOCK', file: /^cluster\/LOCK$/, start: all('served'), running: all('served') },
  {
    kind: 'collections and keys: SYNCED',
    file: /^cluster\/SYNCED$/,
    start: all('served', 'ends'),
    running: all('served'),
  },
  { kind: 'note of the store of collections', file: /^notes\/cluster$/, start: all('served'), running: all('served') },
];

export const KNOWN_NOT_HELD: readonly NotHeld[] = [];

/** What has no cell here, each with the reason or the test that tries it. */
export const NOT_TRIED: readonly NotTried[] = [
  {
    place: 'target',
    kind: 'kept logs and their heads',
    fault: 'missing, truncated, flipped bit',
    why: 'test/integration/hostile-backup-target.test.ts',
  },
  {
    place: 'every process',
    kind: 'clock, memory, processes',
    fault: 'jump, bound, SIGKILL, SIGSTOP',
    why: 'not tried at every moment; npm run fault -- --schedules has the processes',
  },
  { place: 'every process', kind: 'model files, checkpoints of imports', fault: 'all', why: 'not tried' },
  {
    place: 'etcd',
    kind: 'write-ahead log and snapshots of a member',
    fault: 'missing, truncated, flipped bit',
    why: 'etcd judges its own files; without the member it is away: test/fault/cluster/lose-etcd.test.ts',
  },
  {
    place: 'etcd',
    kind: 'all',
    fault: 'EIO of a read',
    why: 'it is a Go program: its calls about files pass no library that could fail them; its writes are tried',
  },
  {
    place: 'coordinator',
    kind: 'files',
    fault: 'missing, truncated, flipped bit',
    why: 'a coordinator keeps no file: what it knows is in etcd and on the nodes',
  },
  {
    place: 'every process',
    kind: 'output log, audit log',
    fault: 'missing, truncated, flipped bit',
    why: 'they are written and never read',
  },
  {
    place: 'every process',
    kind: 'output log, audit log',
    fault: 'full disk, EIO, slow',
    why: 'test/fault/log-away.test.ts, output-away.test.ts',
  },
  {
    place: 'embedded, coordinator',
    kind: 'uploads',
    fault: 'all',
    why: 'they are in memory until they are written as items; test/fault/cluster/lose-an-upload.test.ts',
  },
  {
    place: 'every process',
    kind: 'mapped files',
    fault: 'EIO of a read',
    why: 'it comes as the signal SIGBUS, as that of a file that was cut, which is tried here and in test/fault/damaged-vector-files.test.ts',
  },
  { place: 'every process', kind: 'LOCK', fault: 'truncated, flipped bit', why: 'it is empty' },
  {
    place: 'node',
    kind: 'a replica of several',
    fault: 'missing, truncated, flipped bit, while it runs',
    why: 'test/fault/cluster/alter-a-record.test.ts; the shard is that of the embedded form',
  },
  {
    place: 'node',
    kind: 'the last replica',
    fault: 'missing, truncated, flipped bit',
    why: 'test/fault/cluster/lose-the-last-replica.test.ts, lose-the-only-replica.test.ts',
  },
  { place: 'etcd', kind: 'a member of several', fault: 'all', why: 'test/fault/cluster/lose-an-etcd-member.test.ts' },
];
