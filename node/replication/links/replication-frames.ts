import { operationsVersionOf } from '../../../shared/contract/writes/operation-codec';
import { OPERATIONS_VERSION } from '../../../shared/contract/writes/operation-format';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { AppendAck, AppendMessage, AppendResult, LogPosition } from '../core/messages';
import type { LogEntry } from '../core/replica-state';

/**
 * Messages between replicas as in proto/quiver/v1/replication.proto, loaded with numbers for 64-bit integers (every
 * counter stays below 2^53), camel case, and null for absent submessages.
 */
export interface WireAppend {
  collectionUid: string;
  shard: number;
  epoch: number;
  prev: LogPosition | null;
  commit: number;
  sentAt: number;
  releasesLease: boolean;
  recorded: { replica: { node: string; store: string } | null; epoch: number; match: number }[];
  entries: WireEntry[];
  sharesSince: number;
  withdrawsShare: boolean;
  unshippedFrom: number;
}

export interface WireEntry {
  epoch: number;
  sequence: number;
  write: {
    session: string;
    requestNumber: number;
    settledBelow: number;
    payload: Buffer;
    payloadId: number;
    at: number;
  } | null;
  /** See the protocol. */
  format: number;
}

export interface WireAck {
  collectionUid: string;
  shard: number;
  epoch: number;
  replica: { node: string; store: string } | null;
  sentAt: number;
  awaited: number;
  match?: { match: number; agreed: number } | null;
  mismatch?: { prev: number; hint: LogPosition | null } | null;
  fenced?: { promisedEpoch: number } | null;
}

/** The newest form of an entry that this program knows. */
const ENTRY_FORMAT = 0;
const EMPTY = Buffer.alloc(0);
const NOWHERE: LogPosition = { epoch: 0, sequence: 0 };

/** `piecesOf` answers the id under which a payload is sent in pieces; 0 if it is in the message itself. */
export function appendToWire(
  { collectionUid, shard }: ShardId,
  message: AppendMessage,
  piecesOf: (payload: Buffer) => number,
): WireAppend {
  const { epoch, prev, commit, sentAt, releasesLease, recorded, sharesSince, withdrawsShare } = message;
  const entries = message.entries.map((entry) => entryToWire(entry, piecesOf));
  return {
    collectionUid,
    shard,
    epoch,
    prev,
    commit,
    sentAt,
    releasesLease,
    recorded,
    entries,
    sharesSince,
    withdrawsShare,
    unshippedFrom: message.unshippedFrom ?? 0,
  };
}

/** `from`: the node at the other end of the stream. `joined` answers the payload that came in pieces under an id. */
export function appendFromWire(
  wire: WireAppend,
  from: string,
  joined: (payloadId: number) => Buffer,
): { shard: ShardId; message: AppendMessage } {
  const { collectionUid, shard, epoch, prev, commit, sentAt, releasesLease, sharesSince, withdrawsShare } = wire;
  const recorded = wire.recorded.flatMap((one) =>
    one.replica === null ? [] : [{ replica: one.replica, epoch: one.epoch, match: one.match }],
  );
  const entries = wire.entries.map((entry) => entryFromWire(entry, joined));
  const message = {
    epoch,
    from,
    prev: prev ?? NOWHERE,
    commit,
    sentAt,
    releasesLease,
    sharesSince,
    withdrawsShare,
    recorded,
    entries,
    ...(wire.unshippedFrom > 0 && { unshippedFrom: wire.unshippedFrom }),
  };
  return { shard: { collectionUid, shard }, message };
}

export function ackToWire({ collectionUid, shard }: ShardId, ack: AppendAck): WireAck {
  const { epoch, replica, sentAt, awaited, result } = ack;
  const wire: WireAck = { collectionUid, shard, epoch, replica, sentAt, awaited };
  switch (result.type) {
    case 'match':
      return { ...wire, match: { match: result.match, agreed: result.agreed } };
    case 'mismatch':
      return { ...wire, mismatch: { prev: result.prev, hint: result.hint } };
    case 'fenced':
      return { ...wire, fenced: { promisedEpoch: result.promisedEpoch } };
  }
}

/** null for an invalid acknowledgement, for example one of a later version. */
export function ackFromWire(wire: WireAck): { shard: ShardId; ack: AppendAck } | null {
  const { collectionUid, shard, epoch, replica, sentAt, awaited } = wire;
  const result = resultFromWire(wire);
  if (replica === null || result === null) return null;
  return { shard: { collectionUid, shard }, ack: { epoch, replica, sentAt, awaited, result } };
}

function resultFromWire({ match, mismatch, fenced }: WireAck): AppendResult | null {
  if (match) return { type: 'match', match: match.match, agreed: match.agreed };
  if (mismatch) return { type: 'mismatch', prev: mismatch.prev, hint: mismatch.hint ?? NOWHERE };
  if (fenced) return { type: 'fenced', promisedEpoch: fenced.promisedEpoch };
  return null;
}

function entryToWire({ epoch, sequence, write }: LogEntry, piecesOf: (payload: Buffer) => number): WireEntry {
  if (write === null) return { epoch, sequence, write: null, format: ENTRY_FORMAT };
  const { session, requestNumber, settledBelow } = write.source;
  const payloadId = piecesOf(write.payload);
  return {
    epoch,
    sequence,
    write: {
      session,
      requestNumber,
      settledBelow,
      payload: payloadId === 0 ? write.payload : EMPTY,
      payloadId,
      at: write.at ?? 0,
    },
    format: ENTRY_FORMAT,
  };
}

function entryFromWire({ epoch, sequence, write, format }: WireEntry, joined: (payloadId: number) => Buffer): LogEntry {
  const received = write === null || write.payloadId === 0 ? write?.payload : joined(write.payloadId);
  const payload = received && keptAlone(received);
  const unknown = unknownIn(format, payload);
  if (write === null || payload === undefined) return { epoch, sequence, write: null, ...unknown };
  const { session, requestNumber, settledBelow, at } = write;
  return {
    epoch,
    sequence,
    write: { source: { session, requestNumber, settledBelow }, payload, ...(at > 0 && { at }) },
    ...unknown,
  };
}

/**
 * A payload is decoded as a view of the whole message. An entry may be kept for long, and counts by its own bytes:
 * where most of the memory is that of others, it gets some of its own.
 */
function keptAlone(payload: Buffer): Buffer {
  if (payload.buffer.byteLength <= 2 * payload.length) return payload;
  const own = Buffer.allocUnsafeSlow(payload.length);
  payload.copy(own);
  return own;
}

/**
 * Acknowledging promises to apply. What would fail only then must be refused here, by versions alone: it costs nothing.
 */
function unknownIn(format: number, payload: Buffer | undefined): { unknown?: string } {
  if (format > ENTRY_FORMAT)
    return { unknown: `the entry has format ${format}, and this program knows formats up to ${ENTRY_FORMAT}` };
  const version = payload === undefined ? OPERATIONS_VERSION : operationsVersionOf(payload);
  return version <= OPERATIONS_VERSION
    ? {}
    : {
        unknown: `its operations have version ${version}, and this program knows versions up to ${OPERATIONS_VERSION}`,
      };
}
