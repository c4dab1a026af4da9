import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, EXIT_CODES } from '../command-error';
import { collectionUrl, type Connection } from '../connection/connection';
import { NoAnswerError, ServiceError } from '../connection/service-error';
import { Backoff } from './backoff';
import type { Passage, RejectedRow, Watermark } from './watermark';

/** An item as it is sent. */
export interface OutgoingItem {
  externalId: string;
  /** The item as JSON. */
  json: string;
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
}

interface Waiting<Mark> extends OutgoingItem {
  passage: Passage<Mark>;
}

interface Lane<Mark> {
  items: Waiting<Mark>[];
  characters: number;
  underWay: Promise<void> | null;
}

const OPENING = '{"items":[';
const CLOSING = ']}';

/**
 * Bulk writes over several lanes. An item's lane follows from its external_id, and a lane sends one request after the other:
 * so the last of several rows with one id wins, as it would in one lane. Each lane has one request under way and one being
 * filled; `add` waits while both are full, which bounds memory. A request that the service can't answer now is sent again;
 * one that it refuses is halved until the rows that are at fault are alone, and those are rejected. What can't be helped
 * (a wrong key, a collection that is gone) fails `add` and `finish`.
 */
export class BulkLanes<Mark> {
  private readonly lanes: Lane<Mark>[];
  private failure: Error | null = null;
  private readonly stop = new AbortController();
  private itemsMax: number;
  /** No lane sends before, because the service asked for it. */
  private restUntil = 0;

  constructor(
    private readonly watermark: Watermark<Mark>,
    private readonly options: LaneOptions,
  ) {
    this.itemsMax = options.batchItemsMax;
    this.lanes = Array.from({ length: options.lanes }, () => ({ items: [], characters: 0, underWay: null }));
  }

  /** Takes an item of a passage; resolves when there is room for another. */
  async add(passage: Passage<Mark>, item: OutgoingItem): Promise<void> {
    if (this.failure !== null) throw this.failure;
    const lane = this.lanes[this.lanes.length === 1 ? 0 : hashOf(item.externalId) % this.lanes.length];
    passage.pending += 1;
    lane.items.push({ ...item, passage });
    lane.characters += item.json.length + 1;
    if (lane.items.length < this.itemsMax && lane.characters < this.options.batchCharactersMax) return;
    await this.flush(lane);
  }

  /** Sends what is left; resolves when all is settled. */
  async finish(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => this.flush(lane)));
    await this.idle();
    if (this.failure !== null) throw this.failure;
  }

  /** Resolves when nothing is under way; what was not sent yet is left. */
  async idle(): Promise<void> {
    await Promise.all(this.lanes.map(async (lane) => lane.underWay));
  }

  private async flush(lane: Lane<Mark>): Promise<void> {
    if (lane.underWay !== null) await lane.underWay;
    if (this.failure !== null) throw this.failure;
    if (lane.items.length === 0) return;
    const { items } = lane;
    lane.items = [];
    lane.characters = 0;
    lane.underWay = this.send(items).then(
      () => {
        lane.underWay = null;
      },
      (error: Error) => {
        lane.underWay = null;
        this.failure ??= error;
        this.stop.abort();
      },
    );
  }

  /** Answers how many of the items were rejected. */
  private async send(items: Waiting<Mark>[]): Promise<number> {
    try {
      await this.patiently(OPENING + items.map(({ json }) => json).join(',') + CLOSING);
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
  private async patiently(body: string): Promise<void> {
    const { connection, collection, requestTimeoutMs, patienceMs, onWait } = this.options;
    const signal = AbortSignal.any([this.stop.signal, this.options.signal]);
    const backoff = new Backoff(patienceMs);
    for (;;) {
      const rest = this.restUntil - performance.now();
      if (rest > 0) await sleep(rest, undefined, { signal });
      try {
        await connection.call('POST', collectionUrl(collection, 'bulk_upsert'), { body, timeoutMs: requestTimeoutMs, retries: 0, signal });
        return;
      } catch (error) {
        const isPassing = error instanceof NoAnswerError || (error instanceof ServiceError && error.isPassing);
        if (!isPassing || signal.aborted) throw error;
        const retryAfterMs = error instanceof ServiceError ? error.retryAfterMs : null;
        const wait = backoff.next(retryAfterMs);
        if (wait === null) throw new CommandError(`gave up after trying for ${Math.round(patienceMs / 1000)} s: ${error.message}`, EXIT_CODES.unreachable, { cause: error });
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

/** FNV-1a over the characters. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
