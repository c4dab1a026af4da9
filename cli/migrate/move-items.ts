import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, EXIT_CODES } from '../command-error';
import { type Connection, collectionUrl, urlPath } from '../connection/connection';
import { ServiceError } from '../connection/service-error';
import { type LaneOptions, BulkLanes } from '../writing/bulk-lanes';
import { RejectFile } from '../writing/reject-file';
import type { ResumeFile } from '../writing/resume-file';
import { type RejectedRow, Watermark } from '../writing/watermark';
import { type Finding, ItemFindings } from './finding';
import type { Cursor, PeerItem, PeerPage, PeerSource } from './peer-source';
import type { Move } from './plan';

/** How far a move has come; all of it is in the resume file. */
export interface MoveState {
  /** The collection here, by when it was made: another one of its name is not gone on with. */
  createdAt: string;
  dim: number;
  /** Where reading goes on; null with `isRead`: it is all read. */
  cursor: Cursor | null;
  isRead: boolean;
  /** Items that were read and are settled: stored or rejected. */
  read: number;
  rejected: number;
  rejectBytes: number;
  /** Items that were here before. */
  before: number;
  findings: Finding[];
}

export interface MoveOptions {
  connection: Connection;
  source: PeerSource;
  move: Move;
  resume: ResumeFile<MoveState>;
  rejectPath: string;
  lanes: Omit<LaneOptions, 'connection' | 'collection'>;
  /** Null: by the dimension. */
  pageItems: number | null;
  /** What a new collection is given besides name, dimension and metric. */
  newCollection: Record<string, unknown>;
  isIntoExisting: boolean;
  isRestart: boolean;
  onProgress: (read: number) => void;
  say: (line: string) => void;
}

interface Mark {
  cursor: Cursor | null;
  findings: Finding[];
}

interface CollectionHere {
  dim: number;
  distance_metric: string;
  /** Below 0: unknown, because shards do not answer. */
  vector_count: number;
  created_at: string;
}

/** A page is some four megabytes of a peer's JSON: large enough that asking costs little, small enough to be quick. */
const PAGE_BYTES = 4_000_000;
/** A number of a vector as JSON, and what an item has besides. */
const NUMBER_BYTES = 12;
const ITEM_BYTES = 1500;
const PAGE_ITEMS_MAX = 1000;
const SAVE_EVERY_MS = 250;
/** Pages that may lack any vector before the dimension is given up on. */
const PAGES_WITHOUT_VECTOR_MAX = 1000;
const COUNT_TRIES = 20;
const COUNT_WAIT_MS = 250;

/**
 * Moves one vector of one collection: makes the collection here, reads page by page, writes over lanes, and saves the
 * cursor of the last page that is settled with all before it. A run that goes on reads at most the pages again that
 * were under way; writes are upserts by id, so it ends with the same items.
 */
export class ItemsMove {
  private readonly watermark = new Watermark<Mark>((passage) =>
    this.settled(passage.mark, passage.rows, passage.rejected),
  );
  private readonly rejects: RejectFile;
  private savedAt = 0;

  private constructor(
    private readonly options: MoveOptions,
    readonly state: MoveState,
  ) {
    this.rejects = new RejectFile(options.rejectPath, state.rejectBytes);
  }

  /** Goes on where an earlier run was, or begins: looks for the dimension and makes the collection here. */
  static async begin(options: MoveOptions): Promise<ItemsMove> {
    const { connection, move, resume, say } = options;
    if (options.isRestart) resume.remove();
    const here = await existing(connection, move.to);
    const saved = resume.read();
    if (saved !== null && here?.created_at === saved.createdAt) {
      if (!saved.isRead) say(`${move.to}: going on after ${saved.read.toLocaleString('en')} items`);
      return new ItemsMove(options, saved);
    }
    if (saved !== null) say(`${move.to}: the collection of the earlier run is gone, so this begins anew`);
    const dim = move.vector.dim ?? (await firstDim(options));
    const collection =
      here ??
      (await connection.call<CollectionHere>('POST', urlPath('v1', 'collections'), {
        body: {
          name: move.to,
          dim,
          distance_metric: move.metric,
          description: move.from.description ?? undefined,
          ...options.newCollection,
        },
      }));
    if (here !== null) checkExisting(here, dim, options);
    const state: MoveState = {
      createdAt: collection.created_at,
      dim,
      cursor: null,
      isRead: false,
      read: 0,
      rejected: 0,
      rejectBytes: 0,
      before: collection.vector_count,
      findings: [],
    };
    resume.write(state);
    return new ItemsMove(options, state);
  }

  /** Reads and writes the rest. */
  async run(): Promise<void> {
    if (this.state.isRead) return;
    const { connection, move, lanes: bounds } = this.options;
    const lanes = new BulkLanes(this.watermark, { ...bounds, connection, collection: move.to });
    try {
      let cursor = this.state.cursor;
      do {
        const { page, findings } = await this.read(cursor);
        if (page.next !== null && JSON.stringify(page.next) === JSON.stringify(cursor))
          throw new CommandError(`${move.from.name}: the peer answers the same page again and again`);
        cursor = page.next;
        const rejected: RejectedRow[] = [];
        const passage = this.watermark.begin({ cursor, findings: findings.list() }, page.items.length, rejected);
        for (const item of page.items) {
          const reason = this.fault(item);
          if (reason !== null) rejected.push({ place: move.from.name, externalId: item.id, reason });
          else await lanes.add(passage, { externalId: item.id, json: itemJson(item), place: move.from.name });
        }
        this.watermark.close(passage);
      } while (cursor !== null);
      await lanes.finish();
      this.state.isRead = true;
    } finally {
      // What the service has acknowledged until now counts, also when something failed.
      await lanes.idle();
      this.save();
      this.rejects.close();
    }
  }

  /**
   * Items of the collection here now; asked a few times while it is not what it should be, because its count follows
   * writes.
   */
  async countHere(expected: number | null): Promise<number> {
    for (let tries = 1; ; tries++) {
      const { vector_count } = await this.options.connection.call<CollectionHere>(
        'GET',
        collectionUrl(this.options.move.to),
      );
      if (vector_count >= 0 && (expected === null || vector_count === expected || tries === COUNT_TRIES))
        return vector_count;
      if (tries === COUNT_TRIES) throw unknownCount(this.options.move.to);
      await sleep(COUNT_WAIT_MS, undefined, { signal: this.options.lanes.signal });
    }
  }

  private async read(cursor: Cursor | null): Promise<{ page: PeerPage; findings: ItemFindings }> {
    const { source, move, pageItems } = this.options;
    const findings = new ItemFindings();
    const limit = pageItems ?? pageItemsFor(this.state.dim);
    const page = await source.page({
      collection: move.from,
      vector: move.vector.name,
      cursor,
      limit,
      textField: move.textField,
      findings,
    });
    for (const item of page.items) {
      if (item.vector === null) findings.add('items without a vector', 'left out', 'listed in the reject file');
      if (item.text !== null && item.text !== '')
        findings.add(
          'text',
          'changed',
          'texts became the text of items: searched by hybrid_search, answered by fetch and query',
        );
    }
    return { page, findings };
  }

  private fault({ vector }: PeerItem): string | null {
    if (vector === null) return 'it has no vector';
    if (vector.length !== this.state.dim)
      return `its vector has ${vector.length} dimensions, the collection ${this.state.dim}`;
    for (let i = 0; i < vector.length; i++)
      if (typeof vector[i] !== 'number' || !Number.isFinite(Math.fround(vector[i])))
        return `value ${i} of its vector is no finite float32 number there (${String(vector[i])})`;
    return null;
  }

  private settled(mark: Mark, rows: number, rejected: RejectedRow[]): void {
    this.rejects.append(rejected);
    const findings = new ItemFindings(this.state.findings);
    findings.addAll(mark.findings);
    // Pages are settled in their order: after the last, a kill must not have them all read again.
    Object.assign(this.state, {
      cursor: mark.cursor,
      isRead: mark.cursor === null,
      read: this.state.read + rows,
      rejected: this.state.rejected + rejected.length,
      rejectBytes: this.rejects.bytes,
      findings: findings.list(),
    });
    this.options.onProgress(this.state.read);
    if (performance.now() - this.savedAt > SAVE_EVERY_MS) this.save();
  }

  private save(): void {
    this.options.resume.write(this.state);
    this.savedAt = performance.now();
  }
}

async function existing(connection: Connection, name: string): Promise<CollectionHere | null> {
  return connection.call<CollectionHere>('GET', collectionUrl(name)).catch((error: Error) => {
    if (error instanceof ServiceError && error.code === 404) return null;
    throw error;
  });
}

function checkExisting(here: CollectionHere, dim: number, { move, isIntoExisting }: MoveOptions): void {
  if (here.dim !== dim)
    throw new CommandError(
      `"${move.to}" is there already, with ${here.dim} dimensions; "${move.from.name}" has ${dim}. --rename gives it another name`,
      EXIT_CODES.usage,
    );
  if (here.distance_metric !== move.metric)
    throw new CommandError(
      `"${move.to}" is there already, with the metric ${here.distance_metric}; "${move.from.name}" would have ${move.metric}. --rename gives it another name`,
      EXIT_CODES.usage,
    );
  if (here.vector_count < 0) throw unknownCount(move.to);
  if (here.vector_count > 0 && !isIntoExisting)
    throw new CommandError(
      `"${move.to}" is there already and holds ${here.vector_count} vectors. --into-existing adds to it, --rename gives "${move.from.name}" another name`,
      EXIT_CODES.usage,
    );
}

function unknownCount(name: string): CommandError {
  return new CommandError(
    `how many vectors "${name}" holds is not known, because some of its shards do not answer: run it again when they do`,
    EXIT_CODES.failed,
  );
}

/** The dimension of the first vector that comes. */
async function firstDim({ source, move, pageItems }: MoveOptions): Promise<number> {
  let cursor: Cursor | null = null;
  for (let pages = 0; pages < PAGES_WITHOUT_VECTOR_MAX; pages++) {
    const page: PeerPage = await source.page({
      collection: move.from,
      vector: move.vector.name,
      cursor,
      limit: pageItems ?? PAGE_ITEMS_MAX / 10,
      textField: null,
      findings: new ItemFindings(),
    });
    const first = page.items.find(({ vector }) => vector !== null);
    if (first?.vector) return first.vector.length;
    cursor = page.next;
    if (cursor === null) break;
  }
  throw new CommandError(
    `"${move.from.name}" holds no vector "${move.vector.name}" from which its dimension could be told; leave it out with --collection`,
    EXIT_CODES.usage,
  );
}

function pageItemsFor(dim: number): number {
  return Math.max(10, Math.min(PAGE_ITEMS_MAX, Math.floor(PAGE_BYTES / (dim * NUMBER_BYTES + ITEM_BYTES))));
}

function itemJson({ id, vector, metadata, text }: PeerItem): string {
  const values = Float32Array.from(vector!);
  const encoded = Buffer.from(values.buffer).toString('base64');
  return `{"external_id":${JSON.stringify(id)},"vector":"${encoded}","metadata":${JSON.stringify(metadata)}${text === null || text === '' ? '' : `,"text":${JSON.stringify(text)}`}}`;
}
