import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import type { ColumnMapping } from './column-mapping';
import { vectorLengthOf } from './row-values';
import type { ListedChunk } from './source-list';

/** Where the model fits any dimension: that of the default model. */
const DIM_OF_ANY = 384;

/** Dimensions of a collection that is to be made: as said, those of the first vector, or of the service's model. */
export async function dimensionOf(connection: Connection, said: number | undefined, { mapping, first }: { mapping: ColumnMapping; first: ListedChunk }): Promise<number> {
  if (said !== undefined) return said;
  const { vector } = mapping;
  if (Array.isArray(vector)) return vector.length;
  if (vector !== null) {
    for (const { fields } of first.chunk.records) {
      const length = vectorLengthOf(fields[vector]);
      if (length !== null) return length;
    }
    throw new CommandError(`how many dimensions have the vectors of column "${vector}"? Say it with --dim`, EXIT_CODES.usage);
  }
  const { embedding } = await connection.client.health();
  return embedding.dim ?? DIM_OF_ANY;
}
