import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import type { SourceRecord } from '../formats/record-source';
import type { ColumnMapping } from './column-mapping';
import { isNothing, metadataValue, vectorLengthOf } from './row-values';

/** Where the model fits any dimension: that of the default model. */
const DIM_OF_ANY = 384;
const SHOWN_MAX = 60;

/** Dimensions of a collection that is to be made: as said, those of the first vector, or of the service's model. */
export async function dimensionOf(
  connection: Connection,
  said: number | undefined,
  {
    mapping,
    records,
    hasDecimalCommas,
  }: { mapping: ColumnMapping; records: SourceRecord[]; hasDecimalCommas?: boolean },
): Promise<number> {
  if (said !== undefined) return said;
  const { vector } = mapping;
  if (Array.isArray(vector)) return vector.length;
  if (vector !== null) {
    const [length] = lengthsOf(vector, records, { hasDecimalCommas });
    if (length !== undefined) return length;
    const given = records.map(({ fields }) => fields[vector]).find((value) => !isNothing(value) && value !== '');
    // Where no row has a vector, the service makes all of texts, if there are any.
    if (given !== undefined)
      throw new CommandError(
        `how many dimensions have the vectors of column "${vector}"? ${shown(given)} does not tell; say it with --dim`,
        EXIT_CODES.usage,
      );
    if (mapping.text === null)
      throw new CommandError(
        `column "${vector}" has no vectors in the first ${records.length} rows; how many dimensions have they? Say it with --dim`,
        EXIT_CODES.usage,
      );
  }
  return (await modelDimension(connection)) ?? DIM_OF_ANY;
}

/** Of the vectors that the service makes of texts; null: as many as a collection has. */
export async function modelDimension(connection: Connection): Promise<number | null> {
  return (await connection.client.health()).embedding.dim ?? null;
}

/**
 * The length of the first vector, where no vector of the rows has the collection's dimension; null: some have, or that
 * can't be told.
 */
export function wrongDimension(
  { vector }: ColumnMapping,
  records: SourceRecord[],
  options: { dim: number; hasDecimalCommas?: boolean },
): number | null {
  if (vector === null) return null;
  const { dim } = options;
  const lengths = Array.isArray(vector) ? new Set([vector.length]) : lengthsOf(vector, records, options);
  if (lengths.size === 0 || lengths.has(dim)) return null;
  return [...lengths][0];
}

/** The beginning of a value, for a message. */
function shown(value: unknown): string {
  const text = JSON.stringify(metadataValue(value)) ?? String(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

function lengthsOf(
  column: string,
  records: SourceRecord[],
  options: { dim?: number; hasDecimalCommas?: boolean },
): Set<number> {
  const lengths = records.map(({ fields }) => vectorLengthOf(fields[column], options));
  return new Set(lengths.filter((length) => length !== null));
}
