import { QuiverError } from '../../base/errors/quiver-error';
import { fieldsLeft, hasAnyOf } from '../../contract/shard/field-table';
import type {
  Answer,
  Answer__Output,
  AnswerFrame,
  AnswerFrame__Output,
  ReadFrame,
  ReadFrame__Output,
  ReadRequest,
  ReadRequest__Output,
  Search,
} from '../generated/quiver/v1/reads';
import { readsDefinition } from '../streams/protocol';
import type { StreamMethod } from '../streams/rpc-stream';

/**
 * The messages of a stream of reads on a connection that carries frames. Plain searches and their hits, which are
 * nearly all of them, have a form of their own, which takes a fraction of the time of protobuf; the rest is as in
 * reads.proto.
 *
 *   message   parts, each: u32 number of bytes after the head, u8 form
 *   form 0    a ReadFrame or an AnswerFrame
 *   form 1    a search     u32 id, u32 ms left, f64 epoch, u32 shard, u32 k, u32 ef, u8 flags, u8 bytes of uid, u32
 *   bytes of filter;
 *                          uid, filter, vector
 *   form 1    its answer   u32 id, f64 vectors of the shard; hits (hit-codec.ts)
 *
 * Little-endian. Flags: 1 exact, 2 texts, 4 counted; the higher five bits are n where hits behind 2^n KiB have no
 * metadata and texts, 0: all have them. An earlier version does not look at these. A form that is not known ends the
 * stream: others are only sent to whom says that it knows them.
 */
const FORM = { proto: 0, plain: 1 } as const;
const PART_HEAD_BYTES = 5;
const SEARCH_BYTES = 34;
const HITS_BYTES = 12;
const UID_BYTES_MAX = 255;
const FLAGS = { exact: 1, texts: 2, counted: 4 } as const;
const BYTES_SHIFT = 3;
const KIB = 1024;
/** More bytes than this are no bound. */
const EXPONENT_MAX = 31;

/** What form 1 does with each field of a search; those with an underline are protobuf's own. */
const SEARCH_LEFT = fieldsLeft<Search>({
  vector: 'handled',
  k: 'handled',
  filter: 'handled',
  ef: 'handled',
  exact: 'handled',
  texts: 'handled',
  counted: 'handled',
  bytesMax: 'handled',
  part: 'left',
  boosts: 'left',
  versions: 'left',
  _boosts: 'left',
  _versions: 'left',
  _counted: 'handled',
  _bytesMax: 'handled',
});
/** The same of a request beside what it asks. */
const REQUEST_LEFT = fieldsLeft<Omit<ReadRequest, 'call' | NonNullable<ReadRequest['call']>>>({
  id: 'handled',
  shard: 'handled',
  epoch: 'handled',
  remainingMs: 'handled',
  noted: 'left',
});
/** The same of an answer beside its result. */
const ANSWER_LEFT = fieldsLeft<Omit<Answer, 'result' | NonNullable<Answer['result']>>>({
  id: 'handled',
  more: 'handled',
  vectorCount: 'handled',
  cost: 'left',
  served: 'left',
  boostDepth: 'left',
  _boostDepth: 'left',
});

/** Names the stream in proofs. */
const PATH = '/quiver.v1.Reads/Frames';

export function readFrameToBytes(frame: ReadFrame): Buffer {
  const { requests = [], cancelledIds = [] } = frame;
  const parts: Buffer[] = [];
  let others: ReadRequest[] | null = null;
  for (const request of requests) {
    const plain = plainSearch(request);
    if (plain === null) (others ??= []).push(request);
    else parts.push(plain);
  }
  if (others !== null || cancelledIds.length > 0)
    parts.push(protoPart(readsDefinition.Exchange.requestSerialize({ requests: others ?? [], cancelledIds })));
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

/** Errors: internal when it is malformed. */
export function readFrameFromBytes(bytes: Buffer): ReadFrame__Output {
  const frame: ReadFrame__Output = { requests: [], cancelledIds: [] };
  eachPart(bytes, (form, part) => {
    if (form === FORM.plain) return void frame.requests.push(searchFrom(part));
    const { requests, cancelledIds } = fromProto(readsDefinition.Exchange.requestDeserialize, part);
    frame.requests.push(...requests);
    frame.cancelledIds.push(...cancelledIds);
  });
  return frame;
}

export function answerFrameToBytes({ answers = [] }: AnswerFrame): Buffer {
  const parts: Buffer[] = [];
  let others: Answer[] = [];
  // In their order, because a long answer is several of them, and its last one may be plain.
  const add = (): void => {
    if (others.length > 0) parts.push(protoPart(readsDefinition.Exchange.responseSerialize({ answers: others })));
    others = [];
  };
  for (const answer of answers) {
    const plain = plainHits(answer);
    if (plain === null) {
      others.push(answer);
    } else {
      add();
      parts.push(plain);
    }
  }
  add();
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

/** Errors: internal when it is malformed. */
export function answerFrameFromBytes(bytes: Buffer): AnswerFrame__Output {
  const frame: AnswerFrame__Output = { answers: [] };
  eachPart(bytes, (form, part) => {
    if (form === FORM.plain) frame.answers.push(hitsFrom(part));
    else frame.answers.push(...fromProto(readsDefinition.Exchange.responseDeserialize, part).answers);
  });
  return frame;
}

/** For the side that asks. */
export const readFramesMethod: StreamMethod<ReadFrame, AnswerFrame__Output> = {
  path: PATH,
  requestSerialize: readFrameToBytes,
  responseDeserialize: answerFrameFromBytes,
};

/** For the side that answers. */
export const servedReadFrames = {
  path: PATH,
  requestDeserialize: readFrameFromBytes,
  responseSerialize: answerFrameToBytes,
};

/** The part of a search as it is on nearly all of them; null for any other request. */
function plainSearch(request: ReadRequest): Buffer | null {
  const { id, shard, epoch, remainingMs, search } = request;
  if (!search || !shard || hasAnyOf(request, REQUEST_LEFT) || hasAnyOf(search, SEARCH_LEFT)) return null;
  const { vector, filter = '' } = search;
  const uid = shard.collectionUid ?? '';
  const uidBytes = Buffer.byteLength(uid);
  if (!(vector instanceof Uint8Array) || uidBytes > UID_BYTES_MAX) return null;
  const filterBytes = filter === '' ? 0 : Buffer.byteLength(filter);
  const length = SEARCH_BYTES + uidBytes + filterBytes + vector.length;
  const bytes = partOf(FORM.plain, length);
  let at = bytes.writeUInt32LE(id ?? 0, PART_HEAD_BYTES);
  at = bytes.writeUInt32LE(remainingMs ?? 0, at);
  at = bytes.writeDoubleLE(Number(epoch ?? 0), at);
  at = bytes.writeUInt32LE(shard.shard ?? 0, at);
  at = bytes.writeUInt32LE(search.k ?? 0, at);
  at = bytes.writeUInt32LE(search.ef ?? 0, at);
  bytes[at++] =
    (search.exact === true ? FLAGS.exact : 0) |
    (search.texts === true ? FLAGS.texts : 0) |
    (search.counted === true ? FLAGS.counted : 0) |
    (exponentOf(search.bytesMax) << BYTES_SHIFT);
  bytes[at++] = uidBytes;
  at = bytes.writeUInt32LE(filterBytes, at);
  at += bytes.write(uid, at);
  if (filterBytes > 0) at += bytes.write(filter, at);
  bytes.set(vector, at);
  return bytes;
}

function searchFrom(part: Buffer): ReadRequest__Output {
  if (part.length < SEARCH_BYTES) throw malformed();
  const uidBytes = part[29];
  const filterBytes = part.readUInt32LE(30);
  const filterAt = SEARCH_BYTES + uidBytes;
  const vectorAt = filterAt + filterBytes;
  if (vectorAt > part.length || (part.length - vectorAt) % 4 !== 0) throw malformed();
  const flags = part[28];
  const search = {
    vector: part.subarray(vectorAt),
    k: part.readUInt32LE(20),
    filter: filterBytes === 0 ? '' : part.toString('utf8', filterAt, vectorAt),
    ef: part.readUInt32LE(24),
    exact: (flags & FLAGS.exact) !== 0,
    texts: (flags & FLAGS.texts) !== 0,
    ...((flags & FLAGS.counted) !== 0 && { counted: true }),
    ...(flags >> BYTES_SHIFT !== 0 && { bytesMax: KIB * 2 ** (flags >> BYTES_SHIFT) }),
  };
  return {
    id: part.readUInt32LE(0),
    shard: { collectionUid: part.toString('utf8', SEARCH_BYTES, filterAt), shard: part.readUInt32LE(16) },
    epoch: part.readDoubleLE(8),
    remainingMs: part.readUInt32LE(4),
    noted: null,
    call: 'search',
    search,
  } as unknown as ReadRequest__Output;
}

/** n of the least 2^n KiB that are no fewer bytes. */
function exponentOf(bytes: number | undefined): number {
  if (bytes === undefined) return 0;
  return Math.max(1, Math.min(EXPONENT_MAX, Math.ceil(Math.log2(bytes / KIB))));
}

/** The part of hits that are whole, and of which nothing else is said; null for any other answer. */
function plainHits(answer: Answer): Buffer | null {
  const { id, more, vectorCount, hits } = answer;
  if (!(hits instanceof Uint8Array) || more !== false || hasAnyOf(answer, ANSWER_LEFT)) return null;
  const bytes = partOf(FORM.plain, HITS_BYTES + hits.length);
  const at = bytes.writeUInt32LE(id ?? 0, PART_HEAD_BYTES);
  bytes.set(hits, bytes.writeDoubleLE(Number(vectorCount ?? 0), at));
  return bytes;
}

function hitsFrom(part: Buffer): Answer__Output {
  if (part.length < HITS_BYTES) throw malformed();
  return {
    id: part.readUInt32LE(0),
    more: false,
    vectorCount: part.readDoubleLE(4),
    cost: null,
    served: null,
    result: 'hits',
    hits: part.subarray(HITS_BYTES),
  } as unknown as Answer__Output;
}

function partOf(form: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(PART_HEAD_BYTES + length);
  bytes.writeUInt32LE(length, 0);
  bytes[4] = form;
  return bytes;
}

function protoPart(message: Buffer): Buffer {
  const bytes = partOf(FORM.proto, message.length);
  bytes.set(message, PART_HEAD_BYTES);
  return bytes;
}

/** Errors: internal when the parts do not fill the message, or a form is not known. */
function eachPart(bytes: Buffer, take: (form: number, part: Buffer) => void): void {
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < PART_HEAD_BYTES) throw malformed();
    const from = at + PART_HEAD_BYTES;
    const end = from + bytes.readUInt32LE(at);
    const form = bytes[at + 4];
    if (end > bytes.length || form > FORM.plain) throw malformed();
    take(form, bytes.subarray(from, end));
    at = end;
  }
}

function fromProto<Message>(read: (bytes: Buffer) => Message, bytes: Buffer): Message {
  try {
    return read(bytes);
  } catch (error) {
    throw new QuiverError('internal', 'a malformed message of reads', { cause: error });
  }
}

function malformed(): QuiverError {
  return new QuiverError('internal', 'a malformed message of reads');
}
