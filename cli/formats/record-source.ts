/** A row of a source before anything is made of it: its columns by name. */
export interface SourceRecord {
  fields: Record<string, unknown>;
  /** Number of its line, from 1, or of its row, from 0. Also its id when no column has one. */
  number: number;
}

/** A row that can't be read. */
export interface UnreadableRow {
  number: number;
  reason: string;
}

/** Rows that were read together. */
export interface RecordChunk {
  records: SourceRecord[];
  unreadable: UnreadableRow[];
  /** "line" or "row", behind the file's name when there are several: what `number` counts. */
  place: string;
  /** Put before `number` where it is an id: tells files from each other. */
  idPrefix: string;
  /** Where reading goes on after these, as JSON. */
  cursor: unknown;
  /** How much of the source is read, 0 to 1; null when nobody knows. */
  share: number | null;
}

/** Which fields of a source hold what, where the format says so. */
export interface KnownFields {
  id?: string;
  vector?: string;
  text?: string;
}

/** Rows of a file, a folder or standard input, in their order, in memory of a bounded size. */
export interface RecordSource {
  /** Names of its columns, if they are known before any row is read. */
  readonly columns: string[] | null;
  readonly known: KnownFields;
  /** Values are text, of which numbers and truth values may be made. */
  readonly hasTextOnly: boolean;
  /** From the beginning, or from a mark. `wanted`: columns that are looked at; null: all. May be called once. */
  read(cursor: unknown, wanted: ReadonlySet<string> | null): AsyncGenerator<RecordChunk>;
}

/** Rows of one chunk: enough that what each costs besides is little, few enough that memory stays small. */
export const CHUNK_ROWS = 500;
/** Values of one chunk, where rows are wide: an object of many fields takes some 50 bytes for each. */
const CHUNK_VALUES = 500_000;

/** How many rows a chunk has, of so many columns. */
export function chunkRows(columns: number): number {
  return Math.max(1, Math.min(CHUNK_ROWS, Math.floor(CHUNK_VALUES / Math.max(1, columns))));
}
/** Of a chunk whose rows are large. */
export const CHUNK_BYTES = 1 << 20;
/** A line, record or page beyond this is damage, or not what it is taken for. */
export const PIECE_BYTES_MAX = 256 << 20;
