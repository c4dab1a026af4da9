import type { ServerDuplexStream } from '@grpc/grpc-js';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { inTime } from '../../../shared/base/time/deadline';

/** A sender that sends nothing for this long is given up. */
const INACTIVITY_MS = 15_000;

interface Part {
  header?: { collectionUid: string; shard: number; epoch: number } | null;
  piece?: { bytes: Buffer; isLast: boolean } | null;
}

/** Replaces a replica's data with a copy. Errors: unavailable when it may not, storage_failed when it can't. */
export type InstallCopy = (id: ShardId, epoch: number, chunks: AsyncIterable<Buffer>) => Promise<{ sequence: number }>;

/** Receives copies of shards from other nodes. */
export class SnapshotReceiver {
  private readonly install: InstallCopy;
  private readonly log: Logger;

  constructor(options: { install: InstallCopy; log: Logger }) {
    this.install = options.install;
    this.log = options.log;
  }

  /** Answers on the call when the copy is installed or refused. */
  receive(call: ServerDuplexStream<Part, { installedSequence?: number; refusal?: string }>): void {
    // The default iterator would destroy the call at the end of the parts, before the answer is sent.
    const parts = call.iterator({ destroyOnReturn: false }) as AsyncIterator<Part>;
    let isOver = false;
    call.on('close', () => (isOver = true));
    call.on('cancelled', () => (isOver = true));
    call.on('error', () => (isOver = true));
    void this.take(parts)
      .then(
        ({ sequence }) => ({ installedSequence: sequence }),
        (error: unknown) => {
          this.log.warn({ error }, 'a copy of a shard was not installed');
          return { refusal: error instanceof QuiverError ? error.message : 'it failed' };
        },
      )
      .then((answer) => {
        if (isOver) return;
        call.write(answer);
        call.end();
      });
  }

  private async take(parts: AsyncIterator<Part>): Promise<{ sequence: number }> {
    const { header } = (await next(parts)) ?? {};
    if (!header) throw new QuiverError('unavailable', 'it does not say what it is of');
    const { collectionUid, shard, epoch } = header;
    return this.install({ collectionUid, shard }, epoch, chunksFrom(parts));
  }
}

async function* chunksFrom(parts: AsyncIterator<Part>): AsyncIterable<Buffer> {
  let pieces: Buffer[] = [];
  for (let part = await next(parts); part !== null; part = await next(parts)) {
    if (!part.piece) throw new QuiverError('unavailable', 'it has a part that is none');
    pieces.push(part.piece.bytes);
    if (!part.piece.isLast) continue;
    yield Buffer.concat(pieces);
    pieces = [];
  }
}

/** The next part; null after the last. Errors: unavailable when none comes in time or the stream breaks. */
function next(parts: AsyncIterator<Part>): Promise<Part | null> {
  const part = parts.next().then(
    (result) => (result.done === true ? null : result.value),
    (cause: unknown) => {
      throw new QuiverError('unavailable', 'the stream broke', { cause });
    },
  );
  return inTime(part, INACTIVITY_MS, () => new QuiverError('unavailable', 'the sender says nothing more'));
}
