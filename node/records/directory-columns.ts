/**
 * What the directory knows about each slot, one typed array per column. A slot whose flags are 0 is empty, and its
 * other values are meaningless.
 */
export interface DirectoryColumns {
  recnos: Float64Array;
  stamps: Float64Array;
  /** Place in the arena of the id's bytes, followed by those of the metadata. */
  chunks: Uint32Array;
  offsets: Uint32Array;
  idBytes: Uint16Array;
  metadataBytes: Uint32Array;
  flags: Uint8Array;
}

/** Bytes of one slot over all columns. */
export const SLOT_BYTES = 31;

const SLOTS_MIN = 64;
/** Doubling wastes up to half; growing by a quarter keeps both copying and waste small. */
const GROWTH = 1.25;

export function emptyColumns(): DirectoryColumns {
  return columnsOf(0);
}

export function slotCapacity(columns: DirectoryColumns): number {
  return columns.flags.length;
}

export function grownColumns(columns: DirectoryColumns, slots: number): DirectoryColumns {
  const grown = columnsOf(Math.max(slots, SLOTS_MIN, Math.ceil(slotCapacity(columns) * GROWTH)));
  for (const name of COLUMN_NAMES) grown[name].set(columns[name] as never);
  return grown;
}

export function copiedColumns(columns: DirectoryColumns): DirectoryColumns {
  const copy = columnsOf(slotCapacity(columns));
  for (const name of COLUMN_NAMES) copy[name].set(columns[name] as never);
  return copy;
}

export function columnsOf(slots: number): DirectoryColumns {
  return {
    recnos: new Float64Array(slots),
    stamps: new Float64Array(slots),
    chunks: new Uint32Array(slots),
    offsets: new Uint32Array(slots),
    idBytes: new Uint16Array(slots),
    metadataBytes: new Uint32Array(slots),
    flags: new Uint8Array(slots),
  };
}

/** In the order of a save. */
export const COLUMN_NAMES = ['recnos', 'stamps', 'chunks', 'offsets', 'idBytes', 'metadataBytes', 'flags'] as const;
