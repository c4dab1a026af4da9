import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import type { RecordSource } from '../formats/record-source';
import type { Progress } from '../terminal/progress';
import { BulkLanes } from '../writing/bulk-lanes';
import { RejectFile } from '../writing/reject-file';
import type { ResumeFile } from '../writing/resume-file';
import { type RejectedRow, Watermark } from '../writing/watermark';
import type { ColumnMapping } from './column-mapping';
import { RowConverter } from './item-of-row';
import type { ListedChunk, ListMark } from './source-list';

/** How far an import has come; what a checkpoint holds. */
export interface ImportState {
  mark: ListMark;
  mapping: ColumnMapping;
  /** Rows that were read and are settled, the rejected ones among them. */
  rows: number;
  rejected: number;
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
}

/** So often is the checkpoint written: a killed import sends again what was acknowledged since. */
const CHECKPOINT_EVERY_MS = 500;
/** A person is told of waits so often. */
const WAITS_TOLD_EVERY_MS = 5000;

/** Sends the rows of a source, from a state on; afterwards `state` is that of the end, or of where it stopped. */
export class ImportRun {
  private readonly rejects: RejectFile;
  private readonly watermark: Watermark<ListMark>;
  private readonly lanes: BulkLanes<ListMark>;
  private converter: { source: RecordSource; prefix: string; rows: RowConverter } | null = null;
  private rejectedNow = 0;
  private checkpointAt = performance.now();
  private waitToldAt = -Infinity;
  private share: number | null = null;

  constructor(
    context: CommandContext,
    connection: Connection,
    readonly state: ImportState,
    private readonly settings: ImportSettings,
    private readonly parts: { resume: ResumeFile<ImportState> | null; rejectPath: string; progress: Progress },
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
      onWait: (reason, waitMs) => this.tellWait(reason, waitMs),
      onReject: () => this.countReject(),
    });
  }

  /** Sends what there is to read. */
  async run(chunks: AsyncIterable<ListedChunk>, signal: AbortSignal): Promise<void> {
    try {
      for await (const listed of chunks) {
        signal.throwIfAborted();
        await this.send(listed);
      }
      await this.lanes.finish();
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

  private async send({ chunk, source, mark, share }: ListedChunk): Promise<void> {
    const { place } = chunk;
    const unreadable = chunk.unreadable.map(({ number, reason }): RejectedRow => ({ place: `${place} ${number}`, externalId: null, reason }));
    const passage = this.watermark.begin(mark, chunk.records.length + unreadable.length, unreadable);
    for (let i = 0; i < unreadable.length; i++) this.countReject();
    if (this.converter?.source !== source) {
      const { idPrefix, guessTypes, dim } = this.settings;
      this.converter = { source, prefix: chunk.idPrefix, rows: new RowConverter(this.state.mapping, dim, source, { idPrefix, guessTypes }) };
    }
    const { rows } = this.converter;
    for (const record of chunk.records) {
      const outcome = rows.convert(record, chunk.idPrefix);
      if ('json' in outcome) {
        await this.lanes.add(passage, { externalId: outcome.externalId, json: outcome.json, vector: outcome.vector, place: `${place} ${record.number}` });
      } else {
        passage.rejected.push({ place: `${place} ${record.number}`, externalId: outcome.externalId, reason: outcome.reason });
        this.countReject();
      }
    }
    this.share = share;
    this.watermark.close(passage);
  }

  private settled(mark: ListMark, rows: number, rejected: RejectedRow[]): void {
    this.rejects.append(rejected);
    this.state.mark = mark;
    this.state.rows += rows;
    this.state.rejected += rejected.length;
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
    throw new CommandError(`more than ${this.settings.rejectsMax} rows are bad (--max-rejects); ${this.rejects.path} says why`, EXIT_CODES.rowsRejected);
  }

  private tellWait(reason: string, waitMs: number): void {
    if (performance.now() - this.waitToldAt < WAITS_TOLD_EVERY_MS) return;
    this.waitToldAt = performance.now();
    this.parts.progress.say(`waiting ${waitMs < 1000 ? `${Math.round(waitMs)} ms` : `${Math.round(waitMs / 1000)} s`}: ${reason}`);
  }
}
