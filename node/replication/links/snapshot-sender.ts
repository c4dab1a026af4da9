import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { FRAME_BYTES } from '../../../shared/wire/streams/message-bounds';
import type { RpcStream } from '../../../shared/wire/streams/rpc-channel';
import type { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { inTime } from '../../../shared/base/time/deadline';
import type { KeyValueEntry, KeyValueStore } from '../../engine/kv/key-value-store';
import { Pace } from '../../../shared/base/time/pace';
import { replicationDefinition } from './replication-definition';
import { chunksOf } from '../shard-copy';

/** A receiver that takes nothing for this long is given up. */
const INACTIVITY_MS = 10_000;
/** Longest time that a receiver needs to install the copy after the last chunk: it closes and opens a shard. */
const INSTALL_MS = 600_000;

interface Part {
  header?: { collectionUid: string; shard: number; epoch: number };
  piece?: { bytes: Buffer; isLast: boolean };
}

interface Answer {
  installedSequence?: number;
  refusal?: string;
}

interface CopyParts {
  id: ShardId;
  epoch: number;
  store: KeyValueStore;
  /** See chunksOf. */
  besides: () => readonly KeyValueEntry[];
  address: string;
  isOutrun: () => boolean;
}

/** Copies shards to other nodes; a limit bounds the bytes per second of all copies together. */
export class SnapshotSender {
  private readonly channels: RpcChannels;
  private readonly pace: Pace;
  /** For operators: copies under way, and since the start how many were installed or failed, and bytes sent. */
  readonly counts = { underWay: 0, installed: 0, failed: 0, sentBytes: 0 };

  constructor(options: { channels: RpcChannels; bytesPerSecond: number }) {
    this.channels = options.channels;
    this.pace = new Pace(options.bytesPerSecond);
  }

  /** Resolves when the copy is installed. `isOutrun`: whether it is of no use any more. Errors: unavailable. */
  async send(parts: CopyParts): Promise<void> {
    this.counts.underWay += 1;
    try {
      await this.copy(parts);
      this.counts.installed += 1;
    } catch (error) {
      this.counts.failed += 1;
      throw error;
    } finally {
      this.counts.underWay -= 1;
    }
  }

  private async copy(parts: CopyParts): Promise<void> {
    let fail: (error: Error) => void = () => undefined;
    let done: (answer: Answer) => void = () => undefined;
    const answered = new Promise<Answer>((resolve, reject) => {
      done = resolve;
      fail = reject;
    });
    answered.catch(() => undefined);
    const stream: RpcStream<Part> = this.channels
      .to(parts.address)
      .open<Part, Answer>(replicationDefinition.Install as never, {
        ready: () => undefined,
        frame: (answer) => done(answer),
        ended: (end) => fail(new QuiverError('unavailable', `the copy was cut short: ${end.reason}`)),
      });
    try {
      const { collectionUid, shard } = parts.id;
      await this.write(stream, { header: { collectionUid, shard, epoch: parts.epoch } }, answered);
      for await (const chunk of chunksOf(parts.store, parts.besides)) {
        if (parts.isOutrun())
          throw new QuiverError(
            'unavailable',
            'the replica closes, or more was written during the copy than the log may hold',
          );
        for (let start = 0; start < chunk.length; start += FRAME_BYTES) {
          const bytes = chunk.subarray(start, start + FRAME_BYTES);
          await this.write(stream, { piece: { bytes, isLast: start + FRAME_BYTES >= chunk.length } }, answered);
          this.counts.sentBytes += bytes.length;
          await this.pace.pay(bytes.length);
        }
      }
      stream.finish();
      const answer = await inTime(
        answered,
        INSTALL_MS,
        () => new QuiverError('unavailable', 'the copy was not installed in time'),
      );
      if (answer.refusal) throw new QuiverError('unavailable', `the copy was refused: ${answer.refusal}`);
    } finally {
      stream.cancel();
    }
  }

  /** Resolves when the connection has taken the part; an answer before the end is a refusal. */
  private async write(stream: RpcStream<Part>, part: Part, answered: Promise<Answer>): Promise<void> {
    const taken = new Promise<null>((resolve) => stream.write(part, () => resolve(null)));
    const early = await inTime(
      Promise.race([taken, answered]),
      INACTIVITY_MS,
      () => new QuiverError('unavailable', 'the receiver takes nothing'),
    );
    if (early !== null)
      throw new QuiverError('unavailable', `the copy was refused: ${early.refusal ?? 'no reason given'}`);
  }
}
