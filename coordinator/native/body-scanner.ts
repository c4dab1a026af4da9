import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The functions of the native addon (addon.cc); names, order and meaning of the arguments are the same there. */
export interface BodyScannerAddon {
  /**
   * Takes the number arrays of vectors out of a JSON body in one pass; see body_scanner.h. Null when the body is not
   * a JSON object as far as the scan follows it. `floats` holds float32; in `rest` a vector is the string
   * `<nonce><start>:<end>`, its place among them.
   */
  scan(body: Uint8Array, nonce: string, lengthMax: number): { rest: string; floats: ArrayBuffer } | null;
  /** The vector as a JSON array of shortest decimals. */
  formatVector(vector: Float32Array): string;
}

/** Beside the sources, and seen from the compiled tree in `dist`. */
const PLACES = [join(__dirname, 'build'), join(__dirname, '../../../coordinator/native/build')];

/** The addon that scripts/build-native.mjs built, or null where there is none; throws when it is there and can't be loaded. */
export function loadBodyScanner(): BodyScannerAddon | null {
  const path = PLACES.map((place) => join(place, 'body-scanner.node')).find((file) => existsSync(file));
  return path === undefined ? null : (require(path) as BodyScannerAddon);
}
