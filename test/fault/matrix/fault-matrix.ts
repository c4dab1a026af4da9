import type { FileMode } from '../../support/shards/failing-files';
import { type Cell, isRight } from './cell';
import {
  ETCD_STATES,
  type EtcdRow,
  MEMBER_FILES,
  type MemberRow,
  NODE_FILES,
  NODE_OWN_FILES,
} from './cluster-expectations';
import { DamagedShards } from './damaged-shards';
import { DamagedFolder } from './damaged-folder';
import { FORMS, type Form } from './damage';
import { DamagedNodes } from './damaged-nodes';
import { DamagedReplicas } from './damaged-replicas';
import { DamagedTarget } from './damaged-target';
import {
  BESIDE_SHARD_FILES,
  DISK_SHARD_FILES,
  EMBEDDED_FILES,
  KNOWN_NOT_HELD,
  type NotHeld,
  SHARD_FILES,
} from './expectations';
import { FailingCluster } from './failing-cluster';
import { FailingMachine } from './failing-machine';
import { MACHINE_FILES } from './machine-expectations';
import { targetFilesOf } from './target-expectations';

/** Groups that are tried side by side: most of what one does is to wait. */
const AT_ONCE = 4;
/** Of what is said of a group that broke off. */
const BROKEN_LENGTH = 1_500;

export interface MatrixRun {
  seed: number;
  /** Kinds of file, and whose; all of them by default. */
  only?: (kind: string, place: string) => boolean;
  /** Of damage, and the forms of files that are in use; all by default. */
  forms?: readonly Form[];
  runningForms?: readonly Form[];
  /** Of calls about files; all by default. */
  faults?: readonly FileMode[];
  onCell: (cell: Cell) => void;
}

export interface MatrixReport {
  cells: number;
  /** Not as expected, without those that are known not to hold. */
  mismatches: Cell[];
  /** Not as expected, and known, with why. */
  known: { cell: Cell; why: string }[];
}

/** What one service, or one cluster, tries kinds of file on. */
interface Stand<Row> {
  cellsOf(row: Row): Promise<Cell[]> | AsyncIterable<Cell>;
  destroy(): void | Promise<void>;
}

/** Kinds that are tried on one stand. What breaks it off is a cell of its own, and nothing to the other groups. */
type Group = (only: NonNullable<MatrixRun['only']>, onCell: MatrixRun['onCell']) => Promise<void>;

function groupOf<Row extends { kind: string }>(
  place: string | ((row: Row) => string),
  rows: readonly Row[],
  make: () => Promise<Stand<Row>>,
): Group {
  const nameOf = (row: Row): string => (typeof place === 'string' ? place : place(row));
  return async (only, onCell) => {
    const chosen = rows.filter((row) => only(row.kind, nameOf(row)));
    if (chosen.length === 0) return;
    let stand: Stand<Row> | null = null;
    let row = chosen[0];
    try {
      stand = await make();
      for (row of chosen) for await (const cell of await stand.cellsOf(row)) onCell(cell);
    } catch (error) {
      const seen = `broken off: ${(error as Error).message.slice(0, BROKEN_LENGTH)}`;
      onCell({
        place: nameOf(row),
        kind: row.kind,
        fault: 'all of them',
        form: 'all',
        moment: 'all',
        expected: ['served'],
        seen,
      });
    } finally {
      await stand?.destroy();
    }
  };
}

/** The same of kinds that are tried at once. */
function groupAtOnce<Row extends { kind: string }>(
  place: string,
  rows: readonly Row[],
  make: () => Promise<Stand<readonly Row[]>>,
): Group {
  return async (only, onCell) => {
    const chosen = rows.filter(({ kind }) => only(kind, place));
    if (chosen.length === 0) return;
    const all = { kind: chosen.map(({ kind }) => kind).join(', ') };
    const makeAll = async (): Promise<Stand<typeof all>> => {
      const stand = await make();
      return { cellsOf: () => stand.cellsOf(chosen), destroy: () => stand.destroy() };
    };
    await groupOf(place, [all], makeAll)(() => true, onCell);
  };
}

/** Tries every cell of the matrix, and compares what is seen with what is right. */
export async function runMatrix({
  seed,
  only = () => true,
  forms = FORMS,
  runningForms,
  faults,
  onCell,
}: MatrixRun): Promise<MatrixReport> {
  const report: MatrixReport = { cells: 0, mismatches: [], known: [] };
  const note = (cell: Cell): void => {
    report.cells += 1;
    const known = isRight(cell) ? undefined : knownNotHeld(cell);
    if (known !== undefined) report.known.push({ cell, why: known.why });
    else if (!isRight(cell)) report.mismatches.push(cell);
    onCell(cell);
  };
  // Those that take longest come first.
  const groups = [
    ...[...MEMBER_FILES, ...ETCD_STATES].map((row) =>
      groupOf<MemberRow | EtcdRow>(placeOf, [row], () =>
        FailingCluster.make({ seed, faults, state: 'state' in row ? row.state : null }),
      ),
    ),
    groupOf('node', NODE_OWN_FILES, () => DamagedNodes.make({ seed })),
    groupAtOnce('node', NODE_FILES, () => DamagedReplicas.make({ seed })),
    ...MACHINE_FILES.map((row) => groupOf('embedded', [row], () => FailingMachine.make({ seed, faults }))),
    groupOf('embedded', [...SHARD_FILES, ...BESIDE_SHARD_FILES], () =>
      DamagedShards.make({ seed, options: {}, forms, runningForms }),
    ),
    groupOf('embedded', DISK_SHARD_FILES, () =>
      DamagedShards.make({ seed, options: { vectors: 'disk', metadata: 'disk' }, forms, runningForms }),
    ),
    groupOf('embedded', EMBEDDED_FILES, () => DamagedFolder.make({ seed, forms })),
    ...(['cluster', 'embedded'] as const).map((form) =>
      groupOf('target', targetFilesOf(form), () => DamagedTarget.make({ seed, form })),
    ),
  ];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < groups.length) await groups[next++](only, note);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return report;
}

function placeOf(row: MemberRow | EtcdRow): string {
  return 'place' in row ? row.place : 'etcd';
}

function knownNotHeld(cell: Cell): NotHeld | undefined {
  return KNOWN_NOT_HELD.find(
    ({ kind, moment, seen }) => kind === cell.kind && moment.test(cell.moment) && seen.test(cell.seen),
  );
}
