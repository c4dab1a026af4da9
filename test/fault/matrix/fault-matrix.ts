import type { FileManner } from '../../support/failing-files';
import { type Cell, isRight } from './cell';
import { NODE_FILES } from './cluster-expectations';
import { DamagedShards } from './damaged-shards';
import { DamagedFolder } from './damaged-folder';
import { FORMS, type Form } from './damage';
import { DamagedNodes } from './damaged-nodes';
import { BESIDE_SHARD_FILES, DISK_SHARD_FILES, EMBEDDED_FILES, KNOWN_NOT_HELD, SHARD_FILES } from './expectations';
import { FailingMachine } from './failing-machine';
import { MACHINE_FILES } from './machine-expectations';

export interface MatrixRun {
  seed: number;
  /** Kinds of file, and whose; all of them by default. */
  only?: (kind: string, place: string) => boolean;
  /** Of damage, and the forms of files that are in use; all by default. */
  forms?: readonly Form[];
  runningForms?: readonly Form[];
  /** Of calls about files of the embedded form; all by default. */
  faults?: readonly FileManner[];
  onCell: (cell: Cell) => void;
}

export interface MatrixReport {
  cells: number;
  /** Not as expected, without those that are known not to hold. */
  mismatches: Cell[];
  /** Not as expected, and known. */
  known: Cell[];
}

/** Kinds that are tried on one service, which `make` starts. */
interface Group {
  rows: readonly { place: string; kind: string; cells: (on: any) => Promise<Cell[]> }[];
  make: () => Promise<{ destroy(): void | Promise<void> }>;
}

function groupOf<Row extends { kind: string }>(place: string, rows: readonly Row[], make: () => Promise<{ cellsOf(row: Row): Promise<Cell[]>; destroy(): void | Promise<void> }>): Group {
  return {
    rows: rows.map((row) => ({
      place,
      kind: row.kind,
      cells: (on: { cellsOf(row: Row): Promise<Cell[]> }) => on.cellsOf(row),
    })),
    make,
  };
}

/** Tries every cell of the matrix, and compares what is seen with what is right. */
export async function runMatrix({ seed, only = () => true, forms = FORMS, runningForms, faults, onCell }: MatrixRun): Promise<MatrixReport> {
  const report: MatrixReport = { cells: 0, mismatches: [], known: [] };
  const groups = [
    groupOf('embedded', [...SHARD_FILES, ...BESIDE_SHARD_FILES], () => DamagedShards.make({ seed, options: {}, forms, runningForms })),
    groupOf('embedded', DISK_SHARD_FILES, () => DamagedShards.make({ seed, options: { vectors: 'disk', metadata: 'disk' }, forms, runningForms })),
    groupOf('embedded', EMBEDDED_FILES, () => DamagedFolder.make({ seed, forms })),
    groupOf('embedded', MACHINE_FILES, () => FailingMachine.make({ seed, faults })),
    groupOf('node', NODE_FILES, () => DamagedNodes.make({ seed })),
  ];
  for (const { rows, make } of groups) {
    const chosen = rows.filter(({ kind, place }) => only(kind, place));
    if (chosen.length === 0) continue;
    const on = await make();
    try {
      for (const row of chosen) {
        for (const cell of await row.cells(on)) {
          report.cells += 1;
          if (!isRight(cell)) (isKnown(cell) ? report.known : report.mismatches).push(cell);
          onCell(cell);
        }
      }
    } finally {
      await on.destroy();
    }
  }
  return report;
}

function isKnown(cell: Cell): boolean {
  return KNOWN_NOT_HELD.some(({ kind, moment, seen }) => kind === cell.kind && moment.test(cell.moment) && seen.test(cell.seen));
}
