import { type BodyScannerAddon, loadBodyScanner } from '../../native/body-scanner';
import { AnswerRoom } from '../answer-room';
import type { Turns } from '../turns';
import { BodyMemory } from './body-memory';
import type { BodyScanner, ScanBounds } from './body-scanner';
import { NativeBodyScanner } from './native-body-scanner';
import { PlainBodyScanner } from './plain-body-scanner';
import { formatVectorAsBase64, formatVectorPlainly, type VectorFormats } from './vector-format';

/** How vectors are read from and written to JSON text. */
export interface VectorCodec {
  scanner: BodyScanner;
  formats: VectorFormats;
  /** `plain`: the addon isn't built, and parsing costs several times as much. */
  kind: 'native' | 'plain';
  /** For large bodies; absent without the addon. */
  memory?: BodyMemory;
  /** For answers with hits as bytes; absent without the addon. */
  answers?: AnswerRoom;
}

/** The codec over `addon`, by default the built one. For null it is the plain codec. */
export function openVectorCodec(parts: { bounds: ScanBounds; turns: Turns }, addon: BodyScannerAddon | null = loadBodyScanner()): VectorCodec {
  if (addon === null) return { scanner: new PlainBodyScanner(parts), formats: { array: formatVectorPlainly, base64: formatVectorAsBase64 }, kind: 'plain' };
  const formats: VectorFormats = { array: (vector) => addon.formatVector(vector), base64: formatVectorAsBase64 };
  const memory = new BodyMemory((buffer) => addon.detach(buffer));
  return { scanner: new NativeBodyScanner({ addon, bounds: parts.bounds, memory }), formats, kind: 'native', memory, answers: new AnswerRoom(addon) };
}
