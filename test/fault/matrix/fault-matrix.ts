import { type Cell, isRight } from './cell';
import { DamagedShards } from './damaged-shards';
import { DamagedFolder } from './damaged-folder';
import { FORMS, type Form } from './damage';
import { BESIDE_SHARD_FILES, DISK_SHARD_FILES, EMBEDDED_FILES, type KindRow, KNOWN_NOT_HELD, SHARD_FILES } from './expectations';

export interface MatrixRun {
  seed: number;
  /** Kinds of file; all of them by default. */
  only?: (kind: string) => boolean;
  /** Of damage, and the forms of files that are in use; all by default. */
  forms?: readonly Form[];
  runningForms?: readonly Form[];
  onCell: (cell: Cell) => void;
}

export interface MatrixReport {
  cells: number;
  /** Not as expected, without those that are known not to hold. */
  mismatches: Cell[];
  /** Not as expected, and known. */
  known: Cell[];
}

/** What tries the cells of one kind of file. */
interface Trier {
  cellsOf(row: KindRow): Promise<Cell[]>;
  destroy(): void;
}

/** Tries every cell of the matrix, and compares what is seen with what is right. */
export async function runMatrix({ seed, only = () => true, forms = FORMS, runningForms, onCell }: MatrixRun): Promise<MatrixReport> {
  const report: MatrixReport = { cells: 0, mismatches: [], known: [] };
  const groups: { rows: readonly KindRow[]; make: () => Promise<Trier> }[] = [
    { rows: [...SHARD_FILES, ...BESIDE_SHARD_FILES], make: () => DamagedShards.make({ seed, options: {}, forms, runningForms }) },
    { rows: DISK_SHARD_FILES, make: () => DamagedShards.make({ seed, options: { vectors: 'disk', metadata: 'disk' }, forms, runningForms }) },
    { rows: EMBEDDED_FILES, make: () => DamagedFolder.make({ seed, forms }) },
  ];
  for (const { rows, make } of groups) {
    const chosen = rows.filter(({ kind }) => only(kind));
    if (chosen.length === 0) continue;
    const trier = await make();
    try {
      for (const row of chosen) {
        for (const cell of await trier.cellsOf(row)) {
          report.cells += 1;
          if (!isRight(cell)) (isKnown(cell) ? report.known : report.mismatches).push(cell);
          onCell(cell);
        }
      }
    } finally {
      trier.destroy();
    }
  }
  return report;
}

function isKnown(cell: Cell): boolean {
  return KNOWN_NOT_HELD.some(({ kind, moment, seen }) => kind === cell.kind && moment.test(cell.moment) && seen.test(cell.seen));
}
