import type { FileMode } from '../../support/shards/failing-files';
import type { Moment, Outcome } from './expectations';

/** What is right where calls about a kind of file fail, or take longer, for as long as a moment takes. */
export interface MachineRow {
  kind: string;
  /**
   * An extended regular expression of POSIX. `<data>`: the data folder; `<uid>`: the collection that the moment is
   * about.
   */
  files: string;
  right: Record<FileMode, Record<Moment, readonly Outcome[]>>;
}

/** The moments of faults of calls, in their order: the process goes on from one to the next. */
export const MACHINE_MOMENTS = [
  'load',
  'search',
  'backup',
  'reshard',
  'stop',
  'start',
] as const satisfies readonly Moment[];

/** What is right at each moment but those that are named. */
export const right = (
  others: readonly Outcome[],
  named: Partial<Record<Moment, readonly Outcome[]>> = {},
): Record<Moment, readonly Outcome[]> => ({
  start: others,
  load: others,
  search: others,
  backup: others,
  reshard: others,
  stop: others,
  ...named,
});

export const SERVED = ['served'] as const;
/** Whether something is refused depends on what a call has to write or read, and what memory has of it. */
const WAITS = ['waits', 'served'] as const;
/** A stop that can't store says so, and what was acknowledged is there at the next start. */
const LATE_STOP = ['served', 'ends'] as const;
const slowly = right(SERVED);

/** What the files of an embedded process can be in the way of. */
export const MACHINE_FILES: readonly MachineRow[] = [
  {
    kind: 'records of a shard',
    files: '^<data>/node/shards/<uid>/[0-9]+/records/',
    right: {
      full: right(WAITS, { search: SERVED, stop: LATE_STOP }),
      error: right(WAITS, { stop: LATE_STOP }),
      slow: slowly,
    },
  },
  {
    kind: 'vectors of a shard',
    files: '^<data>/node/shards/<uid>/[0-9]+/vectors/',
    right: {
      full: right(WAITS, { search: SERVED, stop: LATE_STOP }),
      error: right(WAITS, { search: SERVED, stop: LATE_STOP }),
      slow: slowly,
    },
  },
  {
    // Without one, the next start is slower.
    kind: 'checkpoint of a shard',
    files: '^<data>/node/shards/<uid>/[0-9]+/(checkpoint-|MANIFEST)',
    right: {
      full: right(SERVED, { stop: LATE_STOP }),
      error: right(SERVED, { stop: LATE_STOP, start: ['served', 'rebuilt'] }),
      slow: slowly,
    },
  },
  {
    kind: 'collections and keys',
    files: '^<data>/cluster/',
    right: {
      full: right(WAITS, { stop: LATE_STOP, start: ['waits', 'ends', 'served'] }),
      error: right(WAITS, { stop: LATE_STOP, start: ['waits', 'ends', 'served'] }),
      slow: slowly,
    },
  },
  {
    // What can't be noted stops nothing.
    kind: 'notes',
    files: '^<data>/notes/',
    right: { full: right(SERVED), error: right(SERVED, { start: ['served', 'ends'] }), slow: slowly },
  },
  {
    kind: 'the data folder',
    files: '^<data>/',
    right: {
      full: right(WAITS, { search: SERVED, stop: LATE_STOP, start: ['waits', 'ends', 'served'] }),
      error: right(WAITS, { stop: LATE_STOP, start: ['waits', 'ends'] }),
      slow: slowly,
    },
  },
  {
    kind: 'backup target',
    files: '^<data>-backups/',
    right: { full: right(SERVED, { backup: ['waits'] }), error: right(SERVED, { backup: ['waits'] }), slow: slowly },
  },
];
