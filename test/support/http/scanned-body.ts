import {
  type BodyScanner,
  flawError,
  type JudgedBody,
  type ScannedList,
  type ScanBounds,
} from '../../../coordinator/api/body/body-scanner';
import { openVectorCodec, type VectorCodec } from '../../../coordinator/api/body/vector-codec';
import { Turns } from '../../../coordinator/api/load/turns';
import { PlainBodyScanner } from '../models/plain-body-scanner';
import { formatVectorPlainly } from '../models/plain-vector-format';

/** Bounds that no body of a test meets unless it is about them. */
export const WIDE_BOUNDS: ScanBounds = {
  vectorDimMax: 64,
  jsonDepthMax: 1000,
  jsonValuesMax: 1_000_000,
  jsonKeysMax: 1_000_000,
  requestBytesMax: 1_000_000,
};

/** The codec that the service has, with the plain models in place of the addon's scanner and its text of vectors. */
export function openPlainCodec(bounds: ScanBounds): VectorCodec {
  const codec = openVectorCodec(bounds);
  return {
    ...codec,
    scanner: new PlainBodyScanner({ bounds, turns: new Turns() }),
    formats: { ...codec.formats, array: formatVectorPlainly },
  };
}

/** Both codecs by name. */
export function openCodecs(bounds: Partial<ScanBounds> = {}): ['plain' | 'native', VectorCodec][] {
  const all = { ...WIDE_BOUNDS, ...bounds };
  return [
    ['plain', openPlainCodec(all)],
    ['native', openVectorCodec(all)],
  ];
}

type Members = Record<string, unknown>;

/** The whole value of a body, its vectors in place; throws its flaw. `list`: the member that is parsed in parts. */
export function parseScanned(
  scanner: BodyScanner,
  body: Buffer,
  list: ScannedList | null = null,
  bounds: ScanBounds = WIDE_BOUNDS,
): unknown {
  const scan = scanner.scan(body, list);
  if (scan.flaw !== undefined) throw flawError(scan, body, list, bounds);
  return valueOf(scan, list);
}

function valueOf(scan: JudgedBody, list: ScannedList | null): unknown {
  const root = JSON.parse(scan.root) as unknown;
  takeVector(root, scan);
  if (list === null || !isObject(root) || !Object.hasOwn(root, list.name)) return root;
  if (root[list.name] === scan.listMark)
    root[list.name] = Array.from(
      { length: scan.list?.partCount ?? 0 },
      (_, i) => JSON.parse(scan.list?.part(i) ?? '') as unknown[],
    ).flat();
  const elements = root[list.name];
  if (Array.isArray(elements)) for (const element of elements) takeVector(element, scan);
  return root;
}

function takeVector(owner: unknown, scan: JudgedBody): void {
  if (isObject(owner) && Object.hasOwn(owner, 'vector')) owner.vector = scan.vector(owner.vector);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
