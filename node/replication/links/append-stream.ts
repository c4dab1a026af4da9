import { randomUUID } from 'node:crypto';
import { FrameSender } from '../../../shared/wire/frames/frame-sender';
import { FRAME_BYTES } from '../../../shared/wire/streams/message-bounds';
import type { RpcStream, StreamChannel, StreamEnd } from '../../../shared/wire/streams/rpc-channel';
import type { MemberVersion } from '../../../shared/base/process/member-version';
import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { beatToWire } from './beat-frames';
import { LANES, SentLanes } from '../core/beats/beat-lanes';
import type { AppendAck, AppendMessage } from '../core/messages';
import type { SeldomPace } from '../core/pace';
import { entryBytes } from '../log/entry-cache';
import { exchangeFrames } from './exchange-frames';
import type { AckFrame, AppendFrame } from './replication-definition';
import { ackFromWire, appendToWire, type WireAppend } from './replication-frames';

/**
 * Most bytes that wait for a node that takes nothing. Beyond this the stream is closed, and what is still needed is
 * sent again.
 */
const QUEUE_BYTES_MAX = 192 * 1024 * 1024;
/** A connection that takes no data for this long is closed. */
const STALL_MS = 3_000;
const HEADER_BYTES = 300;
const NUMBER_BYTES = 10;
/**
 * Appends of so many bytes, as one that catches up gets, wait behind what is smaller: heartbeats and ordinary writes of
 * other shards, whose leases would run out and whose clients wait.
 */
const BULK_BYTES = 256 * 1024;

/** One stream of appends to another node, from its opening to its end. Acknowledgements come back on it. */
export class AppendStream {
  private readonly stream: RpcStream<AppendFrame>;
  private readonly sender: FrameSender<AppendFrame>;
  private nextPayloadId = 1;
  private isFirst = true;
  /** By shard, how many appends wait among the bulk. Those that follow must not overtake them. */
  private readonly bulk = new Map<string, number>();
  /** For the heartbeats of quiet shards; null until the stream is ready. */
  private beats: SentLanes | null = null;
  private isFlushing = false;
  private isOver = false;

  /** `to`: the name of the node at the other end. */
  constructor(parts: {
    channel: StreamChannel;
    nodeId: string;
    to: string;
    nowMs: () => number;
    /** `nowMs`: as ReplicationReceiver says. */
    listener: {
      ready: (version: MemberVersion) => void;
      ack: (shard: ShardId, ack: AppendAck, nowMs?: number) => void;
      ended: (end: StreamEnd) => void;
    };
  }) {
    const { nodeId, to, listener } = parts;
    this.stream = parts.channel.open<AppendFrame, AckFrame>(exchangeFrames, {
      ready: (version) => {
        this.sender.release();
        this.beats = new SentLanes({ to, sessionPrefix: randomUUID(), count: LANES });
        listener.ready(version);
      },
      frame: (frame) => {
        for (const beat of frame.beats) {
          const nowMs = parts.nowMs();
          for (const { shard, ack } of this.beats?.answered(beat) ?? []) listener.ack(shard, ack, nowMs);
        }
        for (const wire of frame.acks) {
          const found = ackFromWire(wire);
          if (found !== null) listener.ack(found.shard, found.ack);
        }
      },
      ended: (end) => {
        this.close();
        listener.ended(end);
      },
    });
    this.sender = new FrameSender<AppendFrame>({
      // Nothing is taken before the other end has admitted the stream.
      isHeld: true,
      emptyFrame: () => {
        const node = this.isFirst ? nodeId : '';
        this.isFirst = false;
        return { node, pieces: [], appends: [], beats: [] };
      },
      write: (frame, taken) => this.stream.write(frame, taken),
      stallMs: STALL_MS,
      stalled: () => this.stream.cancel(),
    });
  }

  /** `pace`: as in the effect `sendAppend`. */
  send(shard: ShardId, message: AppendMessage, pace?: SeldomPace): void {
    if (this.isOver) return;
    if (this.beats !== null && !this.isBulk(shard) && this.beats.take(shard, message, pace)) return this.flushSoon();
    this.sendAlone(shard, message);
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.sender.close();
    this.stream.cancel();
  }

  private sendAlone(shard: ShardId, message: AppendMessage): void {
    const before = this.nextPayloadId;
    const append = appendToWire(shard, message, (payload) => this.sendPieces(payload));
    const hasPieces = this.nextPayloadId > before;
    let bytes = HEADER_BYTES + message.recorded.length * HEADER_BYTES;
    message.entries.forEach((entry, i) => {
      bytes += append.entries[i].write?.payloadId === 0 ? entryBytes(entry) : HEADER_BYTES;
    });
    const key = shardKey(shard);
    if (bytes < BULK_BYTES && !hasPieces && !this.bulk.has(key))
      this.sender.push({ bytes, addTo: (frame) => frame.appends.push(append) }, true);
    else this.pushBulk(key, bytes, append);
    if (this.sender.queuedBytes > QUEUE_BYTES_MAX) this.stream.cancel();
  }

  /** Once in a turn of the event loop, in which the quiet shards of a node have their heartbeats. */
  private flushSoon(): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    setImmediate(() => {
      this.isFlushing = false;
      if (!this.isOver) this.flushBeats();
    });
  }

  private flushBeats(): void {
    const { beats, alone } = this.beats!.flush();
    for (const { shard, message } of alone) this.sendAlone(shard, message);
    for (const beat of beats) {
      let bytes = HEADER_BYTES + beat.left.length * NUMBER_BYTES;
      for (const { recorded } of beat.joined) bytes += HEADER_BYTES + recorded.length * HEADER_BYTES;
      const wire = beatToWire(beat);
      this.sender.push({ bytes, addTo: (frame) => frame.beats.push(wire) }, true);
    }
  }

  private isBulk(shard: ShardId): boolean {
    return this.bulk.size > 0 && this.bulk.has(shardKey(shard));
  }

  private pushBulk(key: string, bytes: number, append: WireAppend): void {
    this.bulk.set(key, (this.bulk.get(key) ?? 0) + 1);
    this.sender.push({
      bytes,
      addTo: (frame) => {
        const left = this.bulk.get(key)! - 1;
        if (left === 0) this.bulk.delete(key);
        else this.bulk.set(key, left);
        frame.appends.push(append);
      },
    });
  }

  /**
   * Sends a payload that is too long for a frame in pieces, ahead of its append. Answers its id; 0 if it fits into a
   * frame.
   */
  private sendPieces(payload: Buffer): number {
    if (payload.length <= FRAME_BYTES) return 0;
    const payloadId = this.nextPayloadId++;
    for (let start = 0; start < payload.length; start += FRAME_BYTES) {
      const bytes = payload.subarray(start, start + FRAME_BYTES);
      this.sender.push({
        bytes: bytes.length + HEADER_BYTES,
        addTo: (frame) => frame.pieces.push({ payloadId, bytes }),
      });
    }
    return payloadId;
  }
}
