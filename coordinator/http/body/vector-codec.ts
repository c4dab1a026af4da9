import { type BodyScannerAddon, loadBodyScanner } from '../../native/body-scanner';
import type { BodyParser } from './body-parser';
import { JsonBodyParser } from './json-body-parser';
import { NativeBodyParser } from './native-body-parser';
import { formatVectorPlainly, type VectorFormat } from './vector-format';

/** How vectors come in and go out as JSON text. */
export interface VectorCodec {
  parser: BodyParser;
  format: VectorFormat;
  /** `plain`: the addon isn't built, and parsing costs several times as much. */
  kind: 'native' | 'plain';
}

/** The codec over `addon`, by default the built one; the plain one for null. */
export function openVectorCodec(limits: { vectorDimMax: number }, addon: BodyScannerAddon | null = loadBodyScanner()): VectorCodec {
  const { vectorDimMax } = limits;
  if (addon === null) return { parser: new JsonBodyParser({ vectorDimMax }), format: formatVectorPlainly, kind: 'plain' };
  return { parser: new NativeBodyParser({ addon, vectorDimMax }), format: (vector) => addon.formatVector(vector), kind: 'native' };
}
