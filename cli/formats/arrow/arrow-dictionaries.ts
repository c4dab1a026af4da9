import type { Data, Vector } from 'apache-arrow';
import type { BatchHead } from './arrow-check';
import { PIECE_BYTES_MAX } from '../record-source';

type ArrowLibrary = typeof import('apache-arrow');

/** Pieces of one dictionary: the library goes through those before with each of them. */
const PIECES_MAX = 10_000;
/** Values of all dictionaries, and their bytes as they are in memory. */
const VALUES_MAX = 1 << 24;
const BYTES_MAX = PIECE_BYTES_MAX;
/** What a byte of a batch may become, of batches that become large. */
const BATCH_RATIO_MAX = 32;
/** Stands before each compressed buffer; -1: it is not compressed. */
const LENGTH_BYTES = 8;

interface DictionaryHead {
  id: number;
  data: BatchHead;
  isDelta: boolean;
}

/** The library's reader behind its reader, of which these parts are used. */
interface InnerReader {
  dictionaries: Map<number, Vector>;
  _loadDictionaryBatch: (head: DictionaryHead, body: Uint8Array) => Vector;
  _loadRecordBatch: (head: BatchHead, ...others: [body: Uint8Array, ...unknown[]]) => unknown;
}

interface Dictionary {
  pieces: Data[];
  values: number;
  bytes: number;
}

/**
 * Has a reader of the library, of which nothing was read yet, hold no more than fits into memory: of batches what their
 * columns become together, of dictionaries, which stay, all that came. Beyond that it throws a RangeError. The library
 * itself would go through a dictionary, and make room for all of its values once more, with each piece that comes.
 */
export function boundReader(arrow: ArrowLibrary, reader: unknown): void {
  const inner = (reader as { _impl: InnerReader })._impl;
  const loadDictionary = inner._loadDictionaryBatch.bind(inner);
  const loadBatch = inner._loadRecordBatch.bind(inner);
  const held = new Map<number, Dictionary>();
  let heldFor: unknown = null;
  inner._loadRecordBatch = (head, body, ...others) => {
    bytesOf(head, body);
    return loadBatch(head, body, ...others);
  };
  inner._loadDictionaryBatch = ({ id, data, isDelta }, body) => {
    // Another schema begins with none.
    if (heldFor !== inner.dictionaries) held.clear();
    heldFor = inner.dictionaries;
    const before = isDelta ? held.get(id) : undefined;
    const own = {
      pieces: before?.pieces ?? [],
      values: (before?.values ?? 0) + data.length,
      bytes: (before?.bytes ?? 0) + bytesOf(data, body),
    };
    if (own.pieces.length === PIECES_MAX)
      throw new RangeError(`a dictionary comes in more than ${PIECES_MAX} pieces; write it whole, or in larger ones`);
    held.set(id, own);
    const all = [...held.values()];
    const [values, bytes] = [
      all.reduce((sum, each) => sum + each.values, 0),
      all.reduce((sum, each) => sum + each.bytes, 0),
    ];
    if (values > VALUES_MAX)
      throw new RangeError(
        `its dictionaries have ${values} values; at most ${VALUES_MAX} are read: write these columns without a dictionary`,
      );
    if (bytes > BYTES_MAX)
      throw new RangeError(
        `its dictionaries have ${bytes} bytes; at most ${BYTES_MAX >> 20} MiB are read: write these columns without a dictionary`,
      );
    own.pieces.push(...loadDictionary({ id, data, isDelta: false }, body).data);
    return new arrow.Vector(own.pieces.slice());
  };
}

/** What the columns of a batch become together. Throws a RangeError where that is too much. */
function bytesOf({ buffers, compression }: BatchHead, body: Uint8Array): number {
  if (compression === null || compression === undefined) return body.byteLength;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let bytes = 0;
  for (const { offset, length } of buffers) {
    if (length === 0) continue;
    if (!(offset >= 0 && length >= LENGTH_BYTES && offset + length <= body.byteLength))
      throw new RangeError('a compressed buffer is cut off');
    const become = Number(view.getBigInt64(offset, true));
    if (become < -1) throw new RangeError(`a compressed buffer would have ${become} bytes`);
    bytes += become === -1 ? length : become;
  }
  if (!(bytes <= Math.max(PIECE_BYTES_MAX, body.byteLength * BATCH_RATIO_MAX)))
    throw new RangeError(`a batch of ${body.byteLength} bytes would have ${bytes}; write smaller batches`);
  return bytes;
}
