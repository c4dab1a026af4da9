import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../shared/process/package-root';

/** The functions of the native addon (addon.cc); names, order and meaning of the arguments are the same there. */
export interface BodyScannerAddon {
  /**
   * Judges a JSON body and takes the number arrays of vectors out of it, in one pass; see body_scanner.h. `list`: the key
   * of the root's member whose elements are handed out one by one, with its quotes, or ''. `bounds`: six numbers from 1
   * to 2^31, of vectors' length, the list's length, depth, values, bytes, keys.
   */
  scan(body: Uint8Array, nonce: string, list: string, bounds: Float64Array): ScanAnswer;
  /** The same on a thread of libuv's pool. Nobody may write to `body` until it is over. */
  scanAside(body: Uint8Array, nonce: string, list: string, bounds: Float64Array): Promise<ScanAnswer>;
  /** The vector as a JSON array of shortest decimals. */
  formatVector(vector: Float32Array): string;
}

export type ScanAnswer = RefusedScan | AcceptedScan;

/** What is wrong (a `FLAW` of http/body/body-scanner.ts), the byte where it was met, and the list's element there or -1. */
export interface RefusedScan {
  flaw: number;
  at: number;
  element: number;
}

export interface AcceptedScan {
  flaw?: undefined;
  /** JSON text of the body; a vector is the string `<nonce><start>:<end>`, its place in `floats`, the list `<nonce>`. */
  root: string;
  /** float32. */
  floats: ArrayBuffer;
  /** The rest is there when the body has such a list: UTF-8 text of its elements, in which vectors are as in `root`. */
  elements?: ArrayBuffer;
  /** uint32: start and end in `elements` of each run of elements. */
  parts?: ArrayBuffer;
  /** Elements of the list, also those beyond its bound, which are not in `elements`. */
  listLength?: number;
}

/** The addon that scripts/build-native.mjs built, or null where there is none; throws when it is there and can't be loaded. */
export function loadBodyScanner(): BodyScannerAddon | null {
  const path = join(packageRoot(__dirname), 'coordinator', 'native', 'build', 'body-scanner.node');
  return existsSync(path) ? (require(path) as BodyScannerAddon) : null;
}
