import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import type { RecordSource, SourceRecord } from '../formats/record-source';
import type { Progress } from '../terminal/progress';
import { BulkLanes } from '../writing/bulk-lanes';
import { RejectFile } from '../writing/reject-file';
import type { ResumeFile } from '../writing/resume-file';
import { type RejectedRow, Watermark } from '../writing/watermark';
import { isDecimalComma } from '../formats/csv';
import { type ColumnMapping, describeMapping, usedColumns } from './column-mapping';
import { modelDimension, wrongDimension } from './dimension';
import { RowConverter } from './item-of-row';
import { mayBeOneNumber, numberOfCommaText, typedCommaText, typedText } from './row-values';
import type { FailedFile, Listed, ListedChunk, ListCursor } from './source-list';

/** How far an import has come; what a checkpoint holds. */
export interface ImportState {
  mark: ListCursor;
  /** Rows that were read and are settled, the rejected ones among them. */
  rows: number;
  rejected: number;
  /** Rows whose ids were not there before. */
  added: number;
  /** Files that could not be read, or not to their end. */
  failedFiles: number;
  /** Length of the reject file then. */
  rejectBytes: number;
}

export interface ImportSettings {
  collection: string;
  dim: number;
  lanes: number;
  batchItemsMax: number;
  batchCharactersMax: number;
  requestTimeoutMs: number;
  patienceMs: number;
  /** More bad rows than these end the import: the columns are mapped wrong, or it is the wrong file. */
  rejectsMax: number;
  idPrefix: string;
  guessTypes: boolean;
  /** Columns whose texts are numbers however they are written. */
  numbers: ReadonlySet<string>;
  hasDecimalCommas?: boolean;
}

/** So often is the checkpoint written: a killed import sends again what was acknowledged since. */
const CHECKPOINT_EVERY_MS = 500;
/** A number with places, as prices are written; codes with zeros before them are none. */
const DECIMAL = /^-?(?:0|[1-9]\d*)\.\d+$/;
/** A person is told of waits so often. */
const WAITS_REPORTED_EVERY_MS = 5000;

/** What is read; a failure to read on is the last of it. */
async function* untilFailure(chunks: AsyncIterable<Listed>): AsyncGenerator<Listed | Error> {
  try {
    yield* chunks;
  } catch (error) {
    yield error as Error;
  }
}

/** Sends the rows of a source, from a state on; afterwards `state` is that of the end, or of where it stopped. */
export class ImportRun {
  private readonly rejects: RejectFile;
  private readonly watermark: Watermark<ListCursor>;
  private readonly lanes: BulkLanes<ListCursor>;
  private converter: { source: RecordSource; rows: RowConverter } | null = null;
  /** Files whose columns were looked at: told once each. */
  private fileNumber = -1;
  private described = '';
  private failedNumber = -1;
  private hasSent = false;
  private hasAskedForModel = false;
  private rejectedNow = 0;
  private checkpointAt = performance.now();
  private waitReportedAt = -Infinity;
  private share: number | null = null;

  constructor(
    context: CommandContext,
    private readonly connection: Connection,
    readonly state: ImportState,
    private readonly settings: ImportSettings,
    private readonly parts: {
      resume: ResumeFile<ImportState> | null;
      rejectPath: string;
      progress: Progress;
      say: (line: string) => void;
    },
  ) {
    this.rejects = new RejectFile(parts.rejectPath, state.rejectBytes);
    this.watermark = new Watermark((passage) => this.settled(passage.mark, passage.rows, passage.rejected));
    this.lanes = new BulkLanes(this.watermark, {
      connection,
      collection: settings.collection,
      lanes: settings.lanes,
      batchItemsMax: settings.batchItemsMax,
      batchCharactersMax: settings.batchCharactersMax,
      requestTimeoutMs: settings.requestTimeoutMs,
      patienceMs: settings.patienceMs,
      signal: context.signal,
      onWait: (reason, waitMs) => this.reportWait(reason, waitMs),
      onReject: () => this.countReject(),
      onAdded: (rows) => (this.state.added += rows),
    });
  }

  /** Sends what there is to read. */
  async run(chunks: AsyncIterable<Listed>, signal: AbortSignal): Promise<void> {
    try {
      let failure: Error | null = null;
      for await (const listed of untilFailure(chunks)) {
        signal.throwIfAborted();
        if (listed instanceof Error) failure = listed;
        else if ('failed' in listed) this.passOver(listed);
        else if ('empty' in listed) this.parts.progress.say(`${listed.empty} has no rows`);
        else await this.send(listed);
      }
      // Also what stands before a place that can't be read.
      await this.lanes.finish();
      if (failure !== null) throw failure;
      this.checkpoint();
    } catch (error) {
      // What was acknowledged until now stays so.
      await this.lanes.idle();
      this.checkpoint();
      // They may be why it stops. A run that goes on reads them again, and takes them off the list first.
      this.rejects.append(this.watermark.rejected);
      throw error;
    } finally {
      this.rejects.close();
    }
  }

  /** A file that can't be read is one bad row of the list, and no reason to leave the others. */
  private passOver({ failed, reason, cursor, share }: FailedFile): void {
    this.state.failedFiles += 1;
    this.parts.progress.say(`${failed} is left out: ${reason}`);
    const passage = this.watermark.begin(cursor, 0, [{ place: failed, externalId: null, reason }]);
    this.share = share;
    this.watermark.close(passage);
  }

  private async send(listed: ListedChunk): Promise<void> {
    const { chunk, source, mapping, cursor, share } = listed;
    if (mapping !== null && listed.file.number !== this.fileNumber) await this.beginFile(listed);
    if (listed.file.number === this.failedNumber) return;
    const { place } = chunk;
    const unreadable = chunk.unreadable.map(({ number, reason }): RejectedRow => ({
      place: `${place} ${number}`,
      externalId: null,
      reason,
    }));
    const passage = this.watermark.begin(cursor, chunk.records.length + unreadable.length, unreadable);
    for (let i = 0; i < unreadable.length; i++) this.countReject();
    if (mapping !== null && this.converter?.source !== source) {
      const { idPrefix, guessTypes, numbers, hasDecimalCommas, dim } = this.settings;
      this.converter = {
        source,
        rows: new RowConverter(mapping, dim, source, { idPrefix, guessTypes, numbers, hasDecimalCommas }),
      };
    }
    const rows = this.converter?.rows as RowConverter;
    for (const record of chunk.records) {
      const outcome = rows.convert(record, chunk.idPrefix);
      if ('json' in outcome) {
        this.hasSent = true;
        await this.lanes.add(passage, {
          externalId: outcome.externalId,
          json: outcome.json,
          vector: outcome.vector,
          place: `${place} ${record.number}`,
        });
      } else {
        passage.rejected.push({
          place: `${place} ${record.number}`,
          externalId: outcome.externalId,
          reason: outcome.reason,
        });
        this.countReject();
      }
    }
    this.share = share;
    this.watermark.close(passage);
  }

  /** Says what the columns of a file are, and ends what can't succeed: no row of it fits the collection. */
  private async beginFile({ chunk, source, mapping, columns, file, cursor }: ListedChunk): Promise<void> {
    this.fileNumber = file.number;
    const described = describeMapping(mapping!, columns);
    const isFirst = this.described === '';
    if (described !== this.described) this.parts.say(`${isFirst ? '' : `${file.name}: `}${described}`);
    this.described = described;
    if (source.hasTextOnly) {
      this.reportPairs(mapping!, chunk.records);
      this.reportTexts(
        mapping!.metadata ?? columns.filter((name) => !usedColumns(mapping!).includes(name)),
        chunk.records,
      );
    }
    const { collection, dim, hasDecimalCommas } = this.settings;
    const found =
      mapping!.vector === null
        ? await this.wrongModel()
        : wrongDimension(mapping!, chunk.records, { dim, hasDecimalCommas });
    if (found === null) return;
    const whose = mapping!.vector === null ? 'the service’s model makes vectors' : `${file.name} has vectors`;
    const reason = `${whose} of ${found === 1 ? '1 dimension' : `${found} dimensions`}, the collection "${collection}" has ${dim}`;
    if (!this.hasSent) throw new CommandError(reason, EXIT_CODES.usage);
    this.failedNumber = file.number;
    this.passOver({ failed: file.name, reason, cursor: { ...cursor, inner: chunk.cursor }, share: null });
  }

  /** Tells of vectors in the first rows of a table that are read as two numbers, and may be one each. */
  private reportPairs({ vector }: ColumnMapping, records: SourceRecord[]): void {
    if (this.settings.dim !== 2 || this.settings.hasDecimalCommas || vector === null || Array.isArray(vector)) return;
    const values = records.map(({ fields }) => fields[vector]).filter((value) => value !== '');
    if (values.length > 0 && values.every(mayBeOneNumber))
      this.parts.say(
        `values such as ${String(values[0])} in column "${vector}" are read as two numbers; --decimal , makes one of each`,
      );
  }

  /** Tells of texts in the first rows of a table that may have been meant as numbers. */
  private reportTexts(columns: string[], records: SourceRecord[]): void {
    const { hasDecimalCommas, guessTypes, numbers } = this.settings;
    const withComma =
      hasDecimalCommas || !guessTypes
        ? undefined
        : columns.find((name) => records.some(({ fields }) => isDecimalComma(fields[name])));
    if (withComma !== undefined)
      this.parts.say(`values such as 0,5 in column "${withComma}" stay texts; --decimal , makes numbers of them`);
    for (const name of guessTypes ? columns : []) {
      if (numbers.has(name)) continue;
      const texts = records.map(({ fields }) => fields[name] as string);
      const typed = hasDecimalCommas ? typedCommaText : typedText;
      const isNumber = (text: string) =>
        hasDecimalCommas ? /[.,]/.test(text) && numberOfCommaText(text) !== null : DECIMAL.test(text);
      const kept = texts.find((text) => typeof typed(text) === 'string' && isNumber(text));
      if (kept === undefined || !texts.some((text) => typeof typed(text) === 'number')) continue;
      this.parts.say(
        `values such as ${kept} in column "${name}" stay texts beside numbers; --numbers ${name} makes numbers of them`,
      );
    }
  }

  /** The dimension of the model, where it is not that of the collection. */
  private async wrongModel(): Promise<number | null> {
    if (this.hasAskedForModel) return null;
    this.hasAskedForModel = true;
    const dim = await modelDimension(this.connection);
    return dim === this.settings.dim ? null : dim;
  }

  private settled(cursor: ListCursor, rows: number, rejected: RejectedRow[]): void {
    this.rejects.append(rejected);
    this.state.mark = cursor;
    this.state.rows += rows;
    // A file that failed has no row of its own.
    this.state.rejected += Math.min(rows, rejected.length);
    this.state.rejectBytes = this.rejects.bytes;
    this.parts.progress.report(this.share, this.state.rows);
    if (performance.now() - this.checkpointAt >= CHECKPOINT_EVERY_MS) this.checkpoint();
  }

  private checkpoint(): void {
    this.parts.resume?.write(this.state);
    this.checkpointAt = performance.now();
  }

  private countReject(): void {
    this.rejectedNow += 1;
    if (this.rejectedNow <= this.settings.rejectsMax) return;
    throw new CommandError(
      `more than ${this.settings.rejectsMax} rows are bad (--max-rejects); ${this.rejects.path} says why`,
      EXIT_CODES.rowsRejected,
    );
  }

  private reportWait(reason: string, waitMs: number): void {
    if (performance.now() - this.waitReportedAt < WAITS_REPORTED_EVERY_MS) return;
    this.waitReportedAt = performance.now();
    this.parts.progress.say(
      `waiting ${waitMs < 1000 ? `${Math.round(waitMs)} ms` : `${Math.round(waitMs / 1000)} s`}: ${reason}`,
    );
  }
}
