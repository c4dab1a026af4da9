import { BodyMemory } from '../../../../../coordinator/api/body/body-memory';
import { NativeBodyScanner } from '../../../../../coordinator/api/body/native-body-scanner';
import type { BodyScannerAddon, EncodeAnswer } from '../../../../../coordinator/api/native/body-scanner';

/** How much memory large bodies are given to be encoded into. */

const BODY_BYTES = 2 * 1024 * 1024;
const AT_ONCE = 8;
const LIST = { name: 'items', lengthMax: 1000 };
const BOUNDS = {
  vectorDimMax: 8,
  jsonDepthMax: 8,
  jsonValuesMax: 1000,
  jsonKeysMax: 8,
  requestBytesMax: 2 * BODY_BYTES,
};
const ITEMS = { metadataBytesMax: 8, metadataFieldsMax: 8, metadataDepthMax: 8, externalIdCharactersMax: 8 };

/** A scanner whose bodies need room for `share` bytes for each of theirs, and get no answer before `opened`. */
function scannerOf(share: number, opened: Promise<void> = Promise.resolve()) {
  /** For each byte of the body, one after the other. */
  const given: number[] = [];
  const encodeAside = async (
    body: Uint8Array,
    _nonce: string,
    _list: string,
    _bounds: Float64Array,
    target: Uint8Array,
  ): Promise<EncodeAnswer | false> => {
    given.push(target.length / body.length);
    await opened;
    return target.length >= share * body.length && { root: '', count: 1, dim: 1, size: 1 };
  };
  const memory = new BodyMemory(() => undefined);
  const scanner = new NativeBodyScanner({
    addon: { encodeAside } as BodyScannerAddon,
    bounds: BOUNDS,
    memory,
    scansAsideMax: AT_ONCE,
  });
  const encode = () => scanner.encodeAside(Buffer.alloc(BODY_BYTES), LIST, ITEMS, () => false);
  return { given, encode };
}

test('bodies that are encoded at once find out together how much room they need, and no more', async () => {
  let open = (): void => undefined;
  const { given, encode } = scannerOf(1.9, new Promise((resolve) => (open = resolve)));
  const all = Array.from({ length: AT_ONCE }, encode);
  expect(given).toEqual(Array(AT_ONCE).fill(0.5));
  open();
  for (const encoded of await Promise.all(all)) expect(encoded).not.toBeNull();
  expect(Math.max(...given)).toBe(2);
  given.length = 0;
  expect(await encode()).not.toBeNull();
  expect(given).toEqual([2]);
});

test('one that does not fit into four times its bytes is left to a scan', async () => {
  const { given, encode } = scannerOf(4.1);
  expect(await encode()).toBeNull();
  expect(given).toEqual([0.5, 1, 2, 4]);
});
