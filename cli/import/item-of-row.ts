import { losslessJson, parseLossless } from '../formats/json/lossless-json';
import type { RecordSource, SourceRecord } from '../formats/record-source';
import { type ColumnMapping, usedColumns } from './column-mapping';
import { rowDigest } from '../formats/row-digest';
import { UntypedBytes } from '../formats/table-values';
import {
  isNothing,
  metadataValue,
  numberOfCommaText,
  numberOfText,
  textOfBytes,
  typedCommaText,
  typedText,
  vectorOf,
} from './row-values';

/** What becomes of a row: an item as JSON, its vector beside it, or why there is none. */
export type RowOutcome =
  | { externalId: string; json: string; vector: Float32Array | null }
  | { reason: string; externalId: string | null };

/** As the service bounds them: a bad row is found here, before it spoils a batch. */
const ID_CHARACTERS_MAX = 512;
const EXPIRES_AT = 'expires_at';
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/** Makes items of rows by a mapping, for a collection of one dimension. */
export class RowConverter {
  private readonly used: ReadonlySet<string>;

  constructor(
    private readonly mapping: ColumnMapping,
    private readonly dim: number,
    private readonly source: Pick<RecordSource, 'hasTextOnly'>,
    private readonly options: {
      idPrefix: string;
      guessTypes: boolean;
      numbers?: ReadonlySet<string>;
      /** 0,5 is a number. */
      hasDecimalCommas?: boolean;
    },
  ) {
    // As an export writes it; where metadata are columns, it may be one of them.
    this.used = new Set([...usedColumns(mapping), ...(mapping.metadataObject === null ? [] : [EXPIRES_AT])]);
  }

  convert(record: SourceRecord, place: string): RowOutcome {
    const { fields } = record;
    const externalId = this.idOf(record, place);
    if (externalId === null) {
      const { id } = this.mapping;
      const what = isNothing(fields[id ?? ''])
        ? `no id in column "${id}"`
        : `the id in column "${id}" is neither a text nor a number`;
      return { reason: what, externalId: null };
    }
    if (externalId.length > ID_CHARACTERS_MAX)
      return {
        reason: `the id has ${externalId.length} characters, at most ${ID_CHARACTERS_MAX} are possible`,
        externalId: externalId.slice(0, ID_CHARACTERS_MAX),
      };
    if (externalId === '' || CONTROL_CHARACTER.test(externalId))
      return { reason: externalId === '' ? 'the id is empty' : 'the id holds a control character', externalId };
    const parts = [`{"external_id":${JSON.stringify(externalId)}`];
    const vector =
      this.mapping.vector === null
        ? null
        : vectorOf(
            Array.isArray(this.mapping.vector)
              ? this.mapping.vector.map((name) => fields[name])
              : fields[this.mapping.vector],
            this.dim,
            this.options.hasDecimalCommas,
          );
    if (typeof vector === 'string') return { reason: vector, externalId };
    const text = this.textOf(fields);
    if (vector === null && (text === null || text.trim() === ''))
      return {
        reason:
          this.mapping.vector === null ? `no text in column "${this.mapping.text}"` : 'neither a vector nor a text',
        externalId,
      };
    if (text !== null) parts.push(`,"text":${JSON.stringify(text)}`);
    const metadata = this.metadataOf(fields);
    if (typeof metadata === 'string') return { reason: metadata, externalId };
    const expiresAt = this.mapping.metadataObject === null ? '' : (metadataValue(fields[EXPIRES_AT]) ?? '');
    if (typeof expiresAt !== 'string')
      return { reason: `${EXPIRES_AT} is ${JSON.stringify(expiresAt)}, and no time as text in ISO 8601`, externalId };
    if (expiresAt !== '') parts.push(`,"expires_at":${JSON.stringify(expiresAt)}`);
    parts.push(`,"metadata":${losslessJson(metadata)}}`);
    return { externalId, json: parts.join(''), vector };
  }

  private idOf({ fields, number }: SourceRecord, place: string): string | null {
    const { id } = this.mapping;
    if (id === null) return `${this.options.idPrefix}${place}${number}-${rowDigest(fields)}`;
    const value = fields[id];
    if (isNothing(value)) return null;
    const text = metadataValue(innerId(value));
    return typeof text === 'string' || typeof text === 'number' ? this.options.idPrefix + String(text) : null;
  }

  private textOf(fields: Record<string, unknown>): string | null {
    const value = this.mapping.text === null ? null : fields[this.mapping.text];
    // A table of texts has no other sign for a value that is not there.
    if (isNothing(value) || (value === '' && this.source.hasTextOnly)) return null;
    const text = metadataValue(value);
    return typeof text === 'string' ? text : JSON.stringify(text);
  }

  /** A text says why there is none. */
  private metadataOf(fields: Record<string, unknown>): Record<string, unknown> | string {
    const { metadata, metadataObject } = this.mapping;
    const pairs: [string, unknown][] = [];
    for (const name of metadata ?? Object.keys(fields)) {
      if (metadata === null && this.used.has(name)) continue;
      const value = this.valueOf(name, fields[name]);
      if (value !== undefined) pairs.push([name, value]);
    }
    if (metadataObject !== null) {
      const object = objectOf(fields[metadataObject]);
      if (object === undefined) return `column "${metadataObject}" holds no JSON object`;
      pairs.push(...Object.entries(object));
    }
    // Keys such as __proto__ are data.
    return Object.fromEntries(pairs);
  }

  /** What a text of a table is. A partition of folders may be typed already. */
  private typed(name: string, text: unknown): unknown {
    const { guessTypes, numbers, hasDecimalCommas = false } = this.options;
    if (typeof text !== 'string') return text;
    const [numberOf, typedOf] = hasDecimalCommas ? [numberOfCommaText, typedCommaText] : [numberOfText, typedText];
    return (numbers?.has(name) === true ? numberOf(text) : null) ?? (guessTypes ? typedOf(text) : text);
  }

  /** Undefined: there is none. */
  private valueOf(name: string, value: unknown): unknown {
    const typed = this.source.hasTextOnly ? this.typed(name, value) : value;
    return isNothing(typed) || (typed === '' && this.source.hasTextOnly) ? undefined : metadataValue(typed);
  }
}

/** That of MongoDB's dumps, {"$oid": "…"} or {"$numberLong": "…"}; any other is as it is. */
function innerId(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const [[key, inner] = [], ...more] = Object.entries(value);
  return more.length === 0 && key?.startsWith('$') === true ? inner : value;
}

/** The object of a metadata column; undefined when it is something else. */
function objectOf(value: unknown): Record<string, unknown> | undefined {
  if (value === null || value === undefined || value === '') return {};
  let object: unknown = value instanceof UntypedBytes ? textOfBytes(value) : value;
  if (typeof object === 'string') {
    try {
      object = parseLossless(object);
    } catch {
      return undefined;
    }
  }
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
  return metadataValue(object) as Record<string, unknown>;
}
