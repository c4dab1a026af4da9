import { type Batch, batchesOf, halvesOf } from './batches';
import { BadRequestError, type InvalidValueError, ValidationError } from './errors';
import type { CallOptions } from './request';

/** How many items are written at once. */
export interface BulkOptions<Item, Answer> extends CallOptions {
  /** Items of a request; the service takes 1,000 (`MAX_BATCH_SIZE`). Default: 1,000. */
  batchItems?: number;
  /** Bytes of a request, as JSON; the service takes 64 MiB (`MAX_BODY_BYTES`). Default: 4 MiB. */
  batchBytes?: number;
  /** Requests under way at a time. Default: 4. */
  lanes?: number;
  /** After each request that succeeded, in the order in which they did. */
  onBatch?: (batch: WrittenBatch<Item, Answer>) => void;
  /** After each request that succeeded. */
  onProgress?: (progress: BulkProgress) => void;
  /**
   * Given, an item that the service refuses (400, 422), or that can't be sent, is handed over with the error, and the
   * others are written: a refused batch is halved until the item is alone. Throw in it to stop. Left out, the first
   * refusal ends the call.
   */
  onRejected?(item: Item, error: BadRequestError | ValidationError | InvalidValueError): void;
}

/** A request of a bulk write that succeeded. */
export interface WrittenBatch<Item, Answer> {
  items: readonly Item[];
  answer: Answer;
  bytes: number;
}

/** How far a bulk write is; `items` and `bytes` are those that were acknowledged. */
export interface BulkProgress {
  items: number;
  bytes: number;
  batches: number;
  rejected: number;
}

interface BulkParts<Item, Answer> {
  idOf: (item: Item) => string;
  textOf: (item: Item) => string;
  /** Sends the JSON texts of items. */
  send: (texts: readonly string[], options: CallOptions) => Promise<Answer>;
}

interface BatchUnderWay {
  ids: Set<string>;
  done: Promise<void>;
}

const BATCH_ITEMS = 1000;
/** Large enough that the head of a request costs nothing, small enough that several fit beside each other anywhere. */
const BATCH_BYTES = 4 * 1024 * 1024;
const LANES = 4;

/**
 * Writes items in batches, several at a time. Batches that share an id wait for each other, so that of two writes of
 * one id the later one is what stays. After a failure no further batch is begun; those under way end before it is
 * thrown.
 */
export async function writeInBatches<Item, Answer>(
  items: Iterable<Item> | AsyncIterable<Item>,
  parts: BulkParts<Item, Answer>,
  options: BulkOptions<Item, Answer> = {},
): Promise<BulkProgress> {
  const { batchItems = BATCH_ITEMS, batchBytes = BATCH_BYTES, lanes = LANES, onBatch, onProgress } = options;
  const onRejected = options.onRejected?.bind(options);
  if (!(batchItems >= 1) || !(batchBytes >= 1) || !(lanes >= 1))
    throw new RangeError('batchItems, batchBytes and lanes must be 1 or more');
  const { signal, timeoutMs, retries, headers } = options;
  const progress: BulkProgress = { items: 0, bytes: 0, batches: 0, rejected: 0 };
  const underWay = new Set<BatchUnderWay>();
  let failure: { error: unknown } | null = null;

  const write = async (batch: Batch<Item>): Promise<void> => {
    const answer = await parts.send(batch.texts, { signal, timeoutMs, retries, headers }).catch((error: unknown) => {
      if (onRejected !== undefined && isRefusal(error)) return error;
      throw error;
    });
    if (isRefusal(answer)) {
      if (batch.items.length > 1) {
        for (const half of halvesOf(batch, parts.idOf)) await write(half);
        return;
      }
      progress.rejected++;
      return onRejected?.(batch.items[0], answer);
    }
    progress.items += batch.items.length;
    progress.bytes += batch.bytes;
    progress.batches++;
    onBatch?.({ items: batch.items, answer, bytes: batch.bytes });
    onProgress?.({ ...progress });
  };
  const begin = (batch: Batch<Item>): void => {
    const before = [...underWay].filter(({ ids }) => haveCommon(ids, batch.ids)).map(({ done }) => done);
    const entry: BatchUnderWay = { ids: batch.ids, done: Promise.resolve() };
    entry.done = Promise.all(before)
      .then(async () => (failure === null ? write(batch) : undefined))
      .catch((error: unknown) => void (failure ??= { error }))
      .finally(() => underWay.delete(entry));
    underWay.add(entry);
  };

  const onUnsendable =
    onRejected === undefined
      ? undefined
      : (item: Item, error: InvalidValueError): void => {
          progress.rejected++;
          onRejected(item, error);
        };

  try {
    for await (const batch of batchesOf(items, {
      itemsMax: batchItems,
      bytesMax: batchBytes,
      idOf: parts.idOf,
      textOf: parts.textOf,
      onUnsendable,
    })) {
      while (underWay.size >= lanes) await Promise.race([...underWay].map(({ done }) => done));
      if (failure !== null) break;
      begin(batch);
    }
  } finally {
    await Promise.all([...underWay].map(({ done }) => done));
  }
  throwIf(failure);
  return progress;
}

function throwIf(failure: { error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}

function isRefusal(answer: unknown): answer is BadRequestError | ValidationError {
  return answer instanceof BadRequestError || answer instanceof ValidationError;
}

function haveCommon(a: Set<string>, b: Set<string>): boolean {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  for (const id of few) if (many.has(id)) return true;
  return false;
}
