import { setTimeout as sleep } from 'node:timers/promises';
import { vectorFromBase64 } from '../../clients/typescript/src/vectors';
import { CommandError, EXIT_CODES } from '../command-error';
import { collectionUrl, type Connection } from '../connection/connection';
import { NoAnswerError, ServiceError } from '../connection/service-error';
import { Backoff } from '../writing/backoff';
import type { ExportedItem, ItemWriter } from './item-writer';

/** What one page may hold: the answer is text in memory. */
const PAGE_ROWS_MAX = 1000;
const PAGE_FLOATS_MAX = 1_000_000;

export interface ExportSettings {
  collection: string;
  dim: number;
  filters?: Record<string, unknown>;
  hasVectors: boolean;
  patienceMs: number;
  signal: AbortSignal;
  onRows: (rows: number) => void;
  onWait: (reason: string) => void;
}

interface Page {
  vectors: (Omit<ExportedItem, 'vector'> & { vector?: number[] | string })[];
  next_cursor: string | null;
}

/**
 * Reads a collection page by page in insertion order and hands it to the writer; the next page is read while one is
 * written.
 */
export async function runExport(connection: Connection, writer: ItemWriter, settings: ExportSettings): Promise<number> {
  const { dim, filters, hasVectors, onRows } = settings;
  const request = {
    limit: Math.max(1, Math.min(PAGE_ROWS_MAX, Math.floor(PAGE_FLOATS_MAX / dim))),
    include_vectors: hasVectors,
    ...(filters === undefined ? {} : { filters }),
    ...(hasVectors && !writer.wantsNumbers ? { vector_format: 'base64' } : {}),
  };
  let rows = 0;
  let next: Promise<Page> | null = read(connection, settings, request);
  while (next !== null) {
    const page: Page = await next;
    next = page.next_cursor === null ? null : read(connection, settings, { ...request, cursor: page.next_cursor });
    // A failure is seen when it is awaited.
    next?.catch(() => {});
    const items = page.vectors.map(({ vector, ...others }): ExportedItem =>
      vector === undefined ? others : { ...others, vector: floatsOf(vector, writer) },
    );
    if (items.length > 0) await writer.write(items);
    rows += items.length;
    onRows(rows);
  }
  return rows;
}

function floatsOf(vector: number[] | string, writer: ItemWriter): number[] | Float32Array {
  if (typeof vector === 'string') return vectorFromBase64(vector);
  return writer.wantsNumbers ? vector : Float32Array.from(vector);
}

async function read(
  connection: Connection,
  { collection, patienceMs, signal, onWait }: ExportSettings,
  body: unknown,
): Promise<Page> {
  const backoff = new Backoff(patienceMs);
  for (;;) {
    try {
      return await connection.call<Page>('POST', collectionUrl(collection, 'scroll'), { body, retries: 0 });
    } catch (error) {
      const isPassing = error instanceof NoAnswerError || (error instanceof ServiceError && error.isPassing);
      const wait =
        isPassing && !signal.aborted ? backoff.next(error instanceof ServiceError ? error.retryAfterMs : null) : null;
      if (wait === null)
        throw isPassing && !signal.aborted
          ? new CommandError(`gave up: ${error.message}`, EXIT_CODES.unreachable, { cause: error })
          : error;
      onWait((error as Error).message);
      await sleep(wait, undefined, { signal });
    }
  }
}
