import { addonFile } from '../../../shared/base/process/addon-file';

/** The functions of the native addon (addon.cc), with the same names and the same order and meaning of arguments. */
export interface BodyScannerAddon {
  /**
   * Checks a JSON body and extracts the number arrays of vectors, in one pass; see body_scanner.h. `list`: the key,
   * with its quotes, of the root's member whose elements are returned one by one, or ''. `bounds`: six numbers from 1
   * to 2^31: vector length, list length, depth, values, bytes, keys. The numbers of a body without a list are written
   * to `room`, from the element `used` on, if they are no more than an eighth of it and fit.
   */
  scan(
    body: Uint8Array,
    nonce: string,
    list: string,
    bounds: Float64Array,
    room: Float32Array,
    used: number,
  ): ScanAnswer;
  /** The same on a thread of libuv's pool, without a room. Nobody may write to `body` until it has ended. */
  scanAside(body: Uint8Array, nonce: string, list: string, bounds: Float64Array): Promise<ScanAnswer>;
  /**
   * Writes the list of a bulk's body to `target` as the operations of a write, on a thread of libuv's pool, if the body
   * holds nothing but what nearly all hold; see bulk_encoder.h. null: it did not, and nothing is known of the body;
   * false: the target is too small. `bounds`: those of a scan, and four more: bytes, fields and depth of an item's
   * metadata, and characters of its id. Nobody may use `target` until it has ended.
   */
  encodeAside(
    body: Uint8Array,
    nonce: string,
    list: string,
    bounds: Float64Array,
    target: Uint8Array,
  ): Promise<EncodeAnswer | null | false>;
  /**
   * What of a write that encodeAside has made goes to each of so many shards; see bulk_division.h. Parts without
   * operations are left out. `ttlMs`: 0: items expire at no time. Throws a TypeError of anything but such a write.
   */
  divideWrite(write: Uint8Array, shards: number, ttlMs: number): DividedPart[];
  /** Frees the memory of a buffer, whose length is 0 from then on, as that of all views of it. */
  detach(buffer: ArrayBuffer): void;
  /** Another handle (file descriptor) for the same open file, to be closed by itself. */
  duplicateHandle(handle: number): number;
  /** The vector as a JSON array of shortest decimals. */
  formatVector(vector: Float32Array): string;
  /**
   * Writes hits (shared/wire/codecs/hit-codec.ts, encoded as bytes) to `target` from `at` on, as the JSON array that
   * hitJson makes of them. Answers the place behind it; 0: they have no room there, or are malformed.
   */
  writeHits(hits: Uint8Array, target: Uint8Array, at: number): number;
  /**
   * Gives bytes to an open connection, as far as the system takes them at once, and answers how many: 0 also where the
   * connection fails, which who sends them in another way finds out.
   */
  sendNow(handle: number, bytes: Uint8Array, from: number, to: number): number;
  /**
   * Bytes that an open connection was given and that the other side has not acknowledged; 0 where the system does not
   * say it.
   */
  untakenBytes(handle: number): number;
}

/**
 * Of a body without a list, `root` and `floats` of an {@link AcceptedScan}, or how many are in the room, and
 * `hasLongIntegers` if it has some.
 */
export type ScanAnswer =
  | RefusedScan
  | AcceptedScan
  | [root: string, floats: ArrayBuffer | number, hasLongIntegers?: true];

/**
 * What is wrong (a `FLAW` of api/body/body-scanner.ts), the byte where it was found, and the index of the list's
 * element there, or -1.
 */
export interface RefusedScan {
  flaw: number;
  at: number;
  element: number;
}

export interface AcceptedScan {
  flaw?: undefined;
  /**
   * JSON text of the body. A vector is replaced by the string `<nonce><start>:<end>`, its position in `floats`; the
   * list by `<nonce>`.
   */
  root: string;
  /** float32. */
  floats: ArrayBuffer;
  /** Of a body with a list: UTF-8 text of its elements, with vectors replaced as in `root`. */
  elements?: ArrayBuffer;
  /** uint32: start and end in `elements` of each run of elements. */
  parts?: ArrayBuffer;
  /** Number of elements, including those beyond the bound, which are not in `elements`. */
  listLength?: number;
  /** There may be whole numbers beyond 2^53 outside of vectors. */
  hasLongIntegers?: true | undefined;
}

export interface EncodeAnswer {
  /** As of an accepted scan. */
  root: string;
  /** Number of items. */
  count: number;
  /** Numbers in each vector. */
  dim: number;
  /** Bytes of the operations at the start of the target. */
  size: number;
}

/** What goes to one shard. */
export interface DividedPart {
  shard: number;
  /** A write of its own, in the form of shared/contract/writes/operation-format.ts. */
  bytes: ArrayBuffer;
  /** uint32: which operations of the whole write it has, ascending. */
  places: ArrayBuffer;
}

let addon: BodyScannerAddon | undefined;

/** Loads the addon, once per JavaScript thread. Errors: those of addonFile. */
export function loadBodyScanner(): BodyScannerAddon {
  if (addon === undefined) {
    addon = require(addonFile('body-scanner')) as BodyScannerAddon;
  }
  return addon;
}
