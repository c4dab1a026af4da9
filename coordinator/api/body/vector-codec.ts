import { type BodyScannerAddon, loadBodyScanner } from '../native/body-scanner';
import { AnswerRoom } from '../load/answer-room';
import { BodyMemory } from './body-memory';
import type { BodyScanner, ScanBounds } from './body-scanner';
import { NativeBodyScanner } from './native-body-scanner';
import { formatVectorAsBase64, type VectorFormats } from './vector-format';

/** How vectors are read from and written to JSON text. */
export interface VectorCodec {
  scanner: BodyScanner;
  formats: VectorFormats;
  /** For large bodies. */
  memory: BodyMemory;
  /** For answers with hits as bytes. */
  answers: AnswerRoom;
}

/** The codec over `addon`, by default the built one. Errors: that of an addon that was not built, a plain Error. */
export function openVectorCodec(bounds: ScanBounds, addon: BodyScannerAddon = loadBodyScanner()): VectorCodec {
  const formats: VectorFormats = { array: (vector) => addon.formatVector(vector), base64: formatVectorAsBase64 };
  const memory = new BodyMemory((buffer) => addon.detach(buffer));
  return { scanner: new NativeBodyScanner({ addon, bounds, memory }), formats, memory, answers: new AnswerRoom(addon) };
}
