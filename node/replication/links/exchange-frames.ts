import type { WireBeat, WireBeatAck } from './beat-frames';
import { type AckFrame, type AppendFrame, exchangeCodec } from './replication-definition';

/**
 * The messages of a replication stream on a connection that carries frames (shared/wire/frames/frame-link.ts). Nearly
 * all that quiet nodes say to each other are beats that change no set, and their answers. These have a form of their
 * own, which takes a fraction of the time of protobuf; the rest is as in replication.proto.
 *
 *   message   u8 form, content
 *   form 0    an AppendFrame or an AckFrame
 *   form 1    beats        each: u8 bytes of session, session, f64 generation, f64 sent at, f64 base, f64 shares since,
 *   u8 lane form 1    their acks   each: u8 bytes of session, session, f64 generation, f64 sent at
 *
 * Little-endian; sessions are ASCII. A form that is not known ends the stream: others are only sent to whom says that
 * it knows them.
 */
const FORM = { proto: 0, plain: 1 } as const;
const BEAT_BYTES = 34;
const ACK_BYTES = 17;
const SESSION_BYTES_MAX = 255;
const ASCII = /^[\x20-\x7e]*$/;

/** Names the stream in proofs: one for gRPC's opens none of these. */
const PATH = '/quiver.v1.Replication/Frames';

function appendFrameToBytes(frame: AppendFrame): Buffer {
  const { node, pieces, appends, beats } = frame;
  const isPlain =
    node === '' &&
    pieces.length === 0 &&
    appends.length === 0 &&
    beats.every(({ joined, left, session }) => joined.length === 0 && left.length === 0 && isShort(session));
  if (!isPlain) return protoPart(exchangeCodec.requestSerialize(frame));
  const { bytes, next } = plainPart(beats, BEAT_BYTES);
  let at = next;
  for (const { session, generation, sentAt, base, sharesSince, lane } of beats) {
    at = writeHead(bytes, at, session, generation, sentAt);
    at = bytes.writeDoubleLE(base, at);
    at = bytes.writeDoubleLE(sharesSince, at);
    at = bytes.writeUInt8(lane, at);
  }
  return bytes;
}

/** Throws at what is malformed, or has a form that is not known. */
function appendFrameFromBytes(bytes: Buffer): AppendFrame {
  if (formOf(bytes) === FORM.proto) return exchangeCodec.requestDeserialize(bytes.subarray(1));
  const beats: WireBeat[] = [];
  for (let at = 1; at < bytes.length; at += BEAT_BYTES + bytes[at]) {
    const from = at + 1 + bytes[at];
    beats.push({
      session: bytes.toString('latin1', at + 1, from),
      generation: bytes.readDoubleLE(from),
      sentAt: bytes.readDoubleLE(from + 8),
      base: bytes.readDoubleLE(from + 16),
      sharesSince: bytes.readDoubleLE(from + 24),
      lane: bytes.readUInt8(from + 32),
      joined: [],
      left: [],
    });
  }
  return { node: '', pieces: [], appends: [], beats };
}

function ackFrameToBytes(frame: AckFrame): Buffer {
  const { acks, beats } = frame;
  const isPlain =
    acks.length === 0 &&
    beats.every(({ excepted, isUnknown, session }) => excepted.length === 0 && !isUnknown && isShort(session));
  if (!isPlain) return protoPart(exchangeCodec.responseSerialize(frame));
  const { bytes, next } = plainPart(beats, ACK_BYTES);
  let at = next;
  for (const { session, generation, sentAt } of beats) at = writeHead(bytes, at, session, generation, sentAt);
  return bytes;
}

/** Throws as appendFrameFromBytes. */
function ackFrameFromBytes(bytes: Buffer): AckFrame {
  if (formOf(bytes) === FORM.proto) return exchangeCodec.responseDeserialize(bytes.subarray(1));
  const beats: WireBeatAck[] = [];
  for (let at = 1; at < bytes.length; at += ACK_BYTES + bytes[at]) {
    const from = at + 1 + bytes[at];
    beats.push({
      session: bytes.toString('latin1', at + 1, from),
      generation: bytes.readDoubleLE(from),
      sentAt: bytes.readDoubleLE(from + 8),
      excepted: [],
      isUnknown: false,
    });
  }
  return { acks: [], beats };
}

/** For the side that sends appends, and for the one that takes them. */
export const exchangeFrames = {
  path: PATH,
  isQuiet: true,
  requestSerialize: appendFrameToBytes,
  requestDeserialize: appendFrameFromBytes,
  responseSerialize: ackFrameToBytes,
  responseDeserialize: ackFrameFromBytes,
};

function isShort(session: string): boolean {
  return session.length <= SESSION_BYTES_MAX && ASCII.test(session);
}

function protoPart(proto: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(1 + proto.length);
  bytes[0] = FORM.proto;
  proto.copy(bytes, 1);
  return bytes;
}

/** Room for so many, and where the first begins. */
function plainPart(beats: readonly { session: string }[], bytesEach: number): { bytes: Buffer; next: number } {
  let length = 1;
  for (const { session } of beats) length += bytesEach + session.length;
  const bytes = Buffer.allocUnsafe(length);
  bytes[0] = FORM.plain;
  return { bytes, next: 1 };
}

function writeHead(bytes: Buffer, at: number, session: string, generation: number, sentAt: number): number {
  bytes[at] = session.length;
  bytes.write(session, at + 1, 'latin1');
  const from = at + 1 + session.length;
  bytes.writeDoubleLE(generation, from);
  return bytes.writeDoubleLE(sentAt, from + 8);
}

function formOf(bytes: Buffer): number {
  const form = bytes.length === 0 ? -1 : bytes[0];
  if (form !== FORM.proto && form !== FORM.plain) throw new Error(`a message of form ${form}, which is not known`);
  return form;
}
