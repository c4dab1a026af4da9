import { basename } from 'node:path';
import { TextChunker } from '../../coordinator/service/documents/chunk';
import { CommandError } from '../command-error';
import { type ByteSource, inUtf8, notUtf8 } from './byte-source';
import { rowDigest } from './row-digest';
import { CHUNK_ROWS, type KnownFields, type RecordChunk, type RecordSource, type SourceRecord } from './record-source';
import { linesOf } from './json/json-lines';

/** How a text becomes items: overlapping pieces as an upload makes them, its lines, or one item. */
export type TextSplit = { by: 'chunks'; size: number; overlap: number } | { by: 'lines' } | { by: 'file' };

/** More does not fit into an item anyway (`MAX_TEXT_BYTES` is 256 KiB unless it is set). */
const WHOLE_BYTES_MAX = 16 << 20;

/**
 * A plain text in UTF-8. Its items have the name of the file as `source` and, when it was cut, their number as
 * `chunk_index`.
 */
export class TextSource implements RecordSource {
  readonly columns: string[];
  readonly known: KnownFields = { id: 'id', text: 'text' };
  readonly hasTextOnly = false;

  constructor(
    private readonly bytes: ByteSource,
    private readonly split: TextSplit,
    /** What its items' ids begin with. */
    private readonly name = basename(bytes.name),
  ) {
    this.columns = [
      'id',
      'text',
      'source',
      ...(split.by === 'chunks' ? ['chunk_index'] : split.by === 'lines' ? ['line'] : []),
    ];
  }

  async *read(cursor: unknown): AsyncGenerator<RecordChunk> {
    const done = (cursor as { pieces: number } | null)?.pieces ?? 0;
    let records: SourceRecord[] = [];
    let pieces = 0;
    for await (const record of this.records()) {
      pieces += 1;
      if (pieces <= done) continue;
      records.push(record);
      if (records.length < CHUNK_ROWS) continue;
      yield { records, unreadable: [], place: this.place, idPrefix: '', cursor: { pieces }, share: this.bytes.share };
      records = [];
    }
    if (records.length > 0)
      yield { records, unreadable: [], place: this.place, idPrefix: '', cursor: { pieces }, share: this.bytes.share };
  }

  private get place(): string {
    return this.split.by === 'lines' ? 'line' : this.split.by === 'chunks' ? 'chunk' : 'text';
  }

  private async *records(): AsyncGenerator<SourceRecord> {
    const source = this.name;
    if (this.split.by === 'lines') {
      for await (const lines of linesOf(inUtf8(this.bytes.open(), this.bytes.name))) {
        for (const { line, number } of lines) {
          const text = line
            .toString('utf8')
            .replace(/^\ufeff/, '')
            .trim();
          if (text !== '')
            yield { fields: { id: `${source}#${number}-${rowDigest(text)}`, text, source, line: number }, number };
        }
      }
      return;
    }
    const decoder = new TextDecoder('utf8', { fatal: true });
    const chunker = this.split.by === 'chunks' ? new TextChunker(this.split) : null;
    let index = 0;
    let whole = '';
    const chunk = ({ text }: { text: string }): SourceRecord => ({
      fields: { id: `${source}#${index}-${rowDigest(text)}`, text, source, chunk_index: index },
      number: index++,
    });
    for await (const piece of this.bytes.open()) {
      const text = this.decode(decoder, piece);
      if (chunker === null) whole += text;
      else for (const part of chunker.push(text)) yield chunk(part);
      if (whole.length > WHOLE_BYTES_MAX)
        throw new CommandError(`${this.bytes.name} is too long for one item; --split chunks cuts it`);
    }
    const end = this.decode(decoder, undefined);
    if (chunker === null) {
      const text = (whole + end).trim();
      if (text !== '') yield { fields: { id: `${source}-${rowDigest(text)}`, text, source }, number: 0 };
      return;
    }
    for (const part of [...chunker.push(end), ...chunker.end()]) yield chunk(part);
  }

  private decode(decoder: InstanceType<typeof TextDecoder>, piece: Buffer | undefined): string {
    if (piece?.includes(0) === true)
      throw new CommandError(`${this.bytes.name} is no text: it holds NULs, as UTF-16 does; iconv makes UTF-8 of that`);
    try {
      return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
    } catch (error) {
      throw notUtf8(this.bytes.name, { cause: error });
    }
  }
}
