import { FrameSender } from '../../../shared/wire/frames/frame-sender';
import type { ServedCall } from '../../../shared/wire/streams/served-call';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { beatFromWire, type WireBeatAck } from './beat-frames';
import { ReceivedLanes } from '../core/beats/beat-lanes';
import type { AppendAck, AppendMessage } from '../core/messages';
import type { AckFrame, AppendFrame } from './replication-definition';
import { ackToWire, appendFromWire } from './replication-frames';

/** A connection that takes no data for this long is closed. */
const STALL_MS = 3_000;
const ACK_BYTES = 200;
const NUMBER_BYTES = 10;
/** Bytes of payload pieces that wait for their append: a sender sends at most one of the longest at a time. */
const PIECES_BYTES_MAX = 256 * 1024 * 1024;

/** The receiving end of a stream of appends. Acknowledgements are sent back on it. */
export class AckStream {
  /** The sender's name; '' before its first frame. */
  node = '';
  private readonly call: ServedCall<AppendFrame, AckFrame>;
  private readonly sender: FrameSender<AckFrame>;
  /** null before the sender has said its name. */
  private beats: ReceivedLanes | null = null;
  private readonly pieces = new Map<number, Buffer[]>();
  private piecesBytes = 0;

  /** `self`: this node's name. */
  constructor(parts: {
    self: string;
    call: ServedCall<AppendFrame, AckFrame>;
    named: () => void;
    /** `nowMs`: as ReplicationReceiver says. */
    append: (shard: ShardId, message: AppendMessage, nowMs?: number) => void;
    nowMs: () => number;
    ended: () => void;
  }) {
    this.call = parts.call;
    this.sender = new FrameSender({
      emptyFrame: (): AckFrame => ({ acks: [], beats: [] }),
      write: (frame, taken) => void this.call.write(frame, (error?: Error | null) => error ?? taken()),
      stallMs: STALL_MS,
      stalled: () => this.close(),
    });
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.sender.close();
      parts.ended();
    };
    this.call.on('data', (frame) => {
      if (isOver) return;
      if (this.node === '') {
        if (frame.node === '') return this.close();
        this.node = frame.node;
        this.beats = new ReceivedLanes({ self: parts.self, from: frame.node });
        parts.named();
      }
      for (const { payloadId, bytes } of frame.pieces) this.keepPiece(payloadId, bytes);
      for (const wire of frame.appends) {
        const { shard, message } = appendFromWire(wire, this.node, (payloadId) => this.join(payloadId));
        parts.append(shard, message);
      }
      for (const wire of frame.beats) {
        const nowMs = parts.nowMs();
        this.answer(this.beats!.receive(beatFromWire(wire), (shard, message) => parts.append(shard, message, nowMs)));
      }
      return undefined;
    });
    this.call.on('end', () => {
      this.call.end();
      end();
    });
    this.call.on('close', end);
    this.call.on('cancelled', end);
    this.call.on('error', end);
  }

  send(shard: ShardId, ack: AppendAck): void {
    if (this.beats?.covers(shard, ack) === true) return;
    const wire = ackToWire(shard, ack);
    this.sender.push({ bytes: ACK_BYTES, addTo: (frame) => frame.acks.push(wire) });
  }

  close(): void {
    // In a later turn of the event loop: see RpcChannel.
    setImmediate(() => {
      this.call.end();
      this.call.destroy();
    });
  }

  private answer(beat: WireBeatAck | null): void {
    if (beat !== null)
      this.sender.push({
        bytes: ACK_BYTES + beat.excepted.length * NUMBER_BYTES,
        addTo: (frame) => frame.beats.push(beat),
      });
  }

  private keepPiece(payloadId: number, bytes: Buffer): void {
    this.piecesBytes += bytes.length;
    if (this.piecesBytes > PIECES_BYTES_MAX) return this.close();
    const known = this.pieces.get(payloadId);
    if (known === undefined) this.pieces.set(payloadId, [bytes]);
    else known.push(bytes);
    return undefined;
  }

  private join(payloadId: number): Buffer {
    const pieces = this.pieces.get(payloadId) ?? [];
    this.pieces.delete(payloadId);
    const payload = Buffer.concat(pieces);
    this.piecesBytes -= payload.length;
    return payload;
  }
}
