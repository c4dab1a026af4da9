import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import type { SourceRecord } from '../formats/record-source';
import type { ColumnMapping } from './column-mapping';
import { vectorLengthOf } from './row-values';

/** Where the model fits any dimension: that of the default model. */
const DIM_OF_ANY = 384;

/** Dimensions of a collection that is to be made: as said, those of the first vector, or of the service's model. */
export async function dimensionOf(connection: Connection, said: number | undefined, { mapping, records }: { mapping: ColumnMapping; records: SourceRecord[] }): Promise<number> {
  if (said !== undefined) return said;
  const { vector } = mapping;
  if (Array.isArray(vector)) return vector.length;
  if (vector !== null) {
    const [length] = lengthsOf(vector, records);
    if (length !== undefined) return length;
    throw new CommandError(`how many dimensions have the vectors of column "${vector}"? Say it with --dim`, EXIT_CODES.usage);
  }
  return (await modelDimension(connection)) ?? DIM_OF_ANY;
}

/** Of the vectors that the service makes of texts; null: as many as a collection has. */
export async function modelDimension(connection: Connection): Promise<number | null> {
  return (await connection.client.health()).embedding.dim ?? null;
}

/** The length of the first vector, where no vector of the rows has the collection's dimension; null: some have, or that can't be told. */
export function wrongDimension({ vector }: ColumnMapping, records: SourceRecord[], dim: number): number | null {
  if (vector === null) return null;
  const lengths = Array.isArray(vector) ? new Set([vector.length]) : lengthsOf(vector, records);
  if (lengths.size === 0 || lengths.has(dim)) return null;
  return [...lengths][0];
}

function lengthsOf(column: string, records: SourceRecord[]): Set<number> {
  return new Set(records.map(({ fields }) => vectorLengthOf(fields[column])).filter((length) => length !== null));
}
