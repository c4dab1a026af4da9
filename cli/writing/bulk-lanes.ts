import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, EXIT_CODES } from '../command-error';
import { collectionUrl, type Connection } from '../connection/connection';
import { NoAnswerError, ServiceError } from '../connection/service-error';
import { Backoff } from './backoff';
import { LaneQueue } from './lane-queue';
import type { Passage, RejectedRow, Watermark } from './watermark';

/** An item as it is sent. */
export interface OutgoingItem {
  externalId: string;
  /** The item as JSON, and its vector if that is not in it: it becomes text only when it is sent. */
  json: string;
  vector?: Float32Array | null;
  place: string;
}

export interface LaneOptions {
  connection: Connection;
  collection: string;
  /** Requests under way at once. */
  lanes: number;
  /** Bounds of one request; one is sent when either is reached. */
  batchItemsMax: number;
  batchCharactersMax: number;
  requestTimeoutMs: number;
  /** How long a lane tries when nothing works: the service restarts, is full, or can't be reached. */
  patienceMs: number;
  signal: AbortSignal;
  /** Told of waits, so that a person sees why nothing moves. */
  onWait?: (reason: string, waitMs: number) => void;
  /** Told of every row that the service refused; what it throws ends the writing. */
  onReject?: (row: RejectedRow) => void;
  /** Told how many items of a request had ids that were not there. */
  onAdded?: (items: number) => void;
}

interface BulkAnswer {
  results?: { status: string }[];
}

interface Waiting<Mark> extends OutgoingItem {
  passage: Passage<Mark>;
}

/** A request that is made, or being made again of a part of its items. */
interface Batch {
  ids: ReadonlySet<string>;
  done: Promise<void>;
}

const OPENING = '{"items":[';
const CLOSING = ']}';
const COMMA = 0x2c;
const VECTOR_OPENING = ',"vector":"';
const VECTOR_CLOSING = '"}';

/**
 * Bulk writes over several lanes. Batches are filled and sent in order, up to as many at once as there are lanes; one
 * that shares an id with one under way waits for that: so the last of several rows with one id wins, as it would in one
 * lane. As many requests again are made in advance: the service answers those of all lanes together when it stores them
 * together, and must not wait then. `add` waits while there are as many, which bounds memory. A request that the
 * service can't answer now is sent again; one that it refuses is halved until the rows that are at fault are alone, and
 * those are rejected. What can't be helped (a wrong key, a collection that is gone) fails `add` and `finish`.
 */
export class BulkLanes<Mark> {
  private items: Waiting<Mark>[] = [];
  private characters = 0;
  private readonly underWay = new Set<Batch>();
  private failure: Error | null = null;
  private readonly stop = new AbortController();
  private itemsMax: number;
  private readonly queue: LaneQueue;
  /** No lane sends before, because the service asked for it. */
  private restUntil = 0;

  constructor(
    private readonly watermark: Watermark<Mark>,
    private readonly options: LaneOptions,
  ) {
    this.itemsMax = options.batchItemsMax;
    this.queue = new LaneQueue(options.lanes);
  }

  /** Takes an item of a passage; resolves when there is room for another. */
  async add(passage: Passage<Mark>, item: OutgoingItem): Promise<void> {
    if (this.failure !== null) throw this.failure;
    passage.pending += 1;
    this.items.push({ externalId: item.externalId, json: item.json, vector: item.vector, place: item.place, passage });
    this.characters += item.json.length + 1 + vectorCharacters(item.vector);
    if (this.items.length < this.itemsMax && this.characters < this.options.batchCharactersMax) return;
    await this.flush();
  }

  /** Sends what is left; resolves when all is settled. */
  async finish(): Promise<void> {
    await this.flush();
    await this.idle();
    if (this.failure !== null) throw this.failure;
  }

  /** Resolves when nothing is under way; what was not sent yet is left. */
  async idle(): Promise<void> {
    await Promise.all([...this.underWay].map(({ done }) => done));
  }

  private async flush(): Promise<void> {
    while (this.underWay.size >= 2 * this.options.lanes) await Promise.race([...this.underWay].map(({ done }) => done));
    if (this.failure !== null) throw this.failure;
    const { items } = this;
    if (items.length === 0) return;
    this.items = [];
    this.characters = 0;
    const ids = new Set(items.map(({ externalId }) => externalId));
    const before = [...this.underWay].filter((batch) => haveCommon(batch.ids, ids)).map(({ done }) => done);
    const body = bodyOf(items);
    const batch: Batch = { ids, done: Promise.resolve() };
    batch.done = Promise.all(before)
      .then(async () => this.queue.run(async () => this.send(items, body)))
      .then(
        () => {},
        (error: Error) => {
          this.failure ??= error;
          this.stop.abort();
        },
      )
      .finally(() => this.underWay.delete(batch));
    this.underWay.add(batch);
  }

  /** Answers how many of the items were rejected. */
  private async send(items: Waiting<Mark>[], body = bodyOf(items)): Promise<number> {
    if (this.failure !== null) return 0;
    try {
      await this.patiently(body);
      this.settle(items);
      return 0;
    } catch (error) {
      if (!(error instanceof ServiceError) || !error.isRefusal) throw error;
      if (items.length === 1) {
        this.reject(items[0], error.message);
        return 1;
      }
      const half = items.length >> 1;
      const rejected = (await this.send(items.slice(0, half))) + (await this.send(items.slice(half)));
      // Both halves passed whole: what was refused was their number or size.
      if (rejected === 0) this.itemsMax = Math.max(1, Math.min(this.itemsMax, items.length - half));
      return rejected;
    }
  }

  /** Sends a request until it is answered, for as long as patience lasts. */
  private async patiently(body: Uint8Array): Promise<void> {
    const { connection, collection, requestTimeoutMs, patienceMs, onWait, onAdded } = this.options;
    const signal = AbortSignal.any([this.stop.signal, this.options.signal]);
    const backoff = new Backoff(patienceMs);
    for (;;) {
      const rest = this.restUntil - performance.now();
      if (rest > 0) await sleep(rest, undefined, { signal });
      try {
        const answer = await connection.call<BulkAnswer | undefined>('POST', collectionUrl(collection, 'bulk_upsert'), {
          body,
          timeoutMs: requestTimeoutMs,
          retries: 0,
          signal,
        });
        onAdded?.(answer?.results?.filter(({ status }) => status === 'inserted').length ?? 0);
        return;
      } catch (error) {
        const isPassing = error instanceof NoAnswerError || (error instanceof ServiceError && error.isPassing);
        if (!isPassing || signal.aborted) throw error;
        const retryAfterMs = error instanceof ServiceError ? error.retryAfterMs : null;
        const wait = backoff.next(retryAfterMs);
        if (wait === null)
          throw new CommandError(
            `gave up after trying for ${Math.round(patienceMs / 1000)} s: ${error.message}`,
            EXIT_CODES.unreachable,
            { cause: error },
          );
        if (retryAfterMs !== null) this.restUntil = Math.max(this.restUntil, performance.now() + retryAfterMs);
        onWait?.(error.message, wait);
        await sleep(wait, undefined, { signal });
      }
    }
  }

  private settle(items: Waiting<Mark>[]): void {
    // Neighbours are mostly of one passage.
    for (let from = 0, to = 0; from < items.length; from = to) {
      const { passage } = items[from];
      while (to < items.length && items[to].passage === passage) to += 1;
      this.watermark.settle(passage, to - from);
    }
  }

  private reject({ passage, place, externalId }: Waiting<Mark>, reason: string): void {
    const row: RejectedRow = { place, externalId, reason };
    this.watermark.settle(passage, 1, [row]);
    this.options.onReject?.(row);
  }
}

/** A request as bytes. Millions of characters as one text would be copied several times until they are sent. */
function bodyOf(items: OutgoingItem[]): Uint8Array {
  const itemBytes = items.reduce(
    (sum, { json, vector }) => sum + Buffer.byteLength(json) + vectorCharacters(vector),
    0,
  );
  const bytes = Buffer.allocUnsafeSlow(OPENING.length + itemBytes + items.length - 1 + CLOSING.length);
  let at = bytes.write(OPENING, 'latin1');
  for (const [i, { json, vector }] of items.entries()) {
    if (i > 0) bytes[at++] = COMMA;
    at += bytes.write(json, at, 'utf8');
    if (vector) at = writeVector(bytes, at, vector);
  }
  bytes.write(CLOSING, at, 'latin1');
  return bytes;
}

/** Puts a vector into the object that ends at `at`; answers the new end. */
function writeVector(bytes: Buffer, at: number, vector: Float32Array): number {
  let end = at - 1;
  end += bytes.write(VECTOR_OPENING, end, 'latin1');
  end += bytes.write(
    Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
    end,
    'latin1',
  );
  return end + bytes.write(VECTOR_CLOSING, end, 'latin1');
}

/** What it adds to an item's JSON. */
function vectorCharacters(vector: Float32Array | null | undefined): number {
  return vector ? VECTOR_OPENING.length + 4 * Math.ceil(vector.byteLength / 3) + VECTOR_CLOSING.length - 1 : 0;
}

function haveCommon(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const id of a) if (b.has(id)) return true;
  return false;
}
