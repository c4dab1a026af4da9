import type { Field } from 'apache-arrow';
import { parseLossless } from '../json/lossless-json';
import { uuidText } from '../table-values';

/** How Arrow names a type that is stored as another one (https://arrow.apache.org/docs/format/CanonicalExtensions.html). */
const NAME = 'ARROW:extension:name';

/** What its stored values are, so that they come as those of a Parquet file do. */
const EXTENSIONS: Record<string, ((stored: unknown) => unknown) | undefined> = {
  'arrow.uuid': (stored) => (stored instanceof Uint8Array && stored.length === 16 ? uuidText(stored) : stored),
  'arrow.json': (stored) => (typeof stored === 'string' ? jsonOf(stored) : stored),
  'arrow.bool8': (stored) => (typeof stored === 'number' ? stored !== 0 : stored),
};

/** Of a field that has such a type: the value of what is stored. Null: what is stored is the value. */
export function extensionOf(field: Field | undefined): ((stored: unknown) => unknown) | null {
  const name = field?.metadata?.get(NAME);
  return (name !== undefined && Object.hasOwn(EXTENSIONS, name) && EXTENSIONS[name]) || null;
}

function jsonOf(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}
