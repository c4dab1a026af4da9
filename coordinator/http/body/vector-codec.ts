import { type BodyScannerAddon, loadBodyScanner } from '../../native/body-scanner';
import type { Turns } from '../turns';
import type { BodyScanner, ScanBounds } from './body-scanner';
import { NativeBodyScanner } from './native-body-scanner';
import { PlainBodyScanner } from './plain-body-scanner';
import { formatVectorPlainly, type VectorFormat } from './vector-format';

/** How vectors are read from and written to JSON text. */
export interface VectorCodec {
  scanner: BodyScanner;
  format: VectorFormat;
  /** `plain`: the addon isn't built, and parsing costs several times as much. */
  kind: 'native' | 'plain';
}

/** The codec over `addon`, by default the built one. For null it is the plain codec. */
export function openVectorCodec(parts: { bounds: ScanBounds; turns: Turns }, addon: BodyScannerAddon | null = loadBodyScanner()): VectorCodec {
  if (addon === null) return { scanner: new PlainBodyScanner(parts), format: formatVectorPlainly, kind: 'plain' };
  return { scanner: new NativeBodyScanner({ addon, bounds: parts.bounds }), format: (vector) => addon.formatVector(vector), kind: 'native' };
}
