import { CommandError } from '../command-error';
import { ByteSource } from './byte-source';
import { JsonLinesSource } from './json/json-lines';
import type { NpySource } from './npy';
import type { KnownFields, RecordChunk, RecordSource, SourceRecord } from './record-source';
import { VECTOR_FIELD } from './vector-files';

/** Beside `x.npy`: what else its items have, a JSON object a line, in the order of its rows. Export writes it. */
export function itemsPathOf(npyPath: string): string {
  return `${npyPath.replace(/\.npy$/, '')}.items.jsonl`;
}

interface PairedCursor {
  vectors: unknown;
  lines: unknown;
  /** Lines of the last chunk of them that are used already. */
  used: number;
}

/** Vectors of one file with the fields of another, row by row. */
export class PairedSource implements RecordSource {
  readonly columns = null;
  readonly known: KnownFields = { vector: VECTOR_FIELD };
  readonly hasTextOnly = false;

  constructor(
    private readonly vectors: NpySource,
    private readonly itemsPath: string,
  ) {}

  async *read(cursor: unknown): AsyncGenerator<RecordChunk> {
    const start = (cursor as PairedCursor | null) ?? { vectors: null, lines: null, used: 0 };
    const lines = new JsonLinesSource(new ByteSource(this.itemsPath, { path: this.itemsPath }, null)).read(start.lines);
    let held: SourceRecord[] = [];
    let used = 0;
    let linesCursor = start.lines;
    const more = async (): Promise<boolean> => {
      const { value, done } = await lines.next();
      if (done) return false;
      if (value.unreadable.length > 0)
        throw new CommandError(`${this.itemsPath}, line ${value.unreadable[0].number}: ${value.unreadable[0].reason}`);
      // What is held comes before this chunk only at the start of it.
      held = value.records;
      nextCursor = value.cursor;
      return true;
    };
    let nextCursor: unknown = null;
    try {
      if (await more()) used = start.used;
      for await (const chunk of this.vectors.read(start.vectors)) {
        const records: SourceRecord[] = [];
        for (const record of chunk.records) {
          if (used === held.length) {
            linesCursor = nextCursor;
            if (!(await more()))
              throw new CommandError(`${this.itemsPath} has fewer lines than there are vectors: ${record.number}`);
            used = 0;
          }
          records.push({ fields: { ...held[used].fields, ...record.fields }, number: record.number });
          used += 1;
        }
        yield { ...chunk, records, cursor: { vectors: chunk.cursor, lines: linesCursor, used } satisfies PairedCursor };
      }
      // An item of its own belongs to another file: the two were not written together.
      if (used < held.length || (await more()))
        throw new CommandError(`${this.itemsPath} has more lines than there are vectors`);
    } finally {
      await lines.return(undefined);
    }
  }
}
