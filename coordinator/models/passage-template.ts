import { chosenMetadata, metadataScalars } from '../../shared/contract/filter/chosen-metadata';
import type { CollectionEmbedding } from './collection-embedding';

/** Of an item, what a vector may be made of. */
export interface PassageSource {
  text: string | null;
  /** JSON object text. */
  metadata: string;
}

/** The name of the text of an item. */
const TEXT = 'text';
const ONLY_TEXT = /^\s*\{\{\s*text\s*\}\}\s*$/;
const FIELDS_MAX = 16;
const FIELD = /\{\{([^{}]*)\}\}/g;
/** Elements of a list stand side by side. */
const BETWEEN = ', ';
/** Templates that are remembered: collections have few, and each write asks. */
const KNOWN_MAX = 1_000;
const known = new Map<string, PassageTemplate>();

/**
 * What a vector is made of, where that is more than the text of an item: texts, and fields in double braces, {{text}}
 * or paths of metadata as filters have them. What is missing is empty.
 */
export class PassageTemplate {
  /** Of metadata. */
  readonly paths: readonly string[];
  /** Whether the text of an item is in it. */
  readonly hasText: boolean;

  /** `fields`: as they stand in the template, each before the text of its place in `between`, which has one more. */
  private constructor(
    readonly source: string,
    private readonly fields: readonly string[],
    private readonly between: readonly string[],
  ) {
    this.hasText = fields.includes(TEXT);
    this.paths = [...new Set(fields.filter((field) => field !== TEXT))];
  }

  /** That of a collection; null: vectors are made of the text alone. */
  static of(embedding: Pick<CollectionEmbedding, 'template'> | null | undefined): PassageTemplate | null {
    const source = embedding?.template;
    if (source === undefined) return null;
    let template = known.get(source);
    if (template === undefined) {
      if (known.size === KNOWN_MAX) known.clear();
      const between = source.replaceAll(FIELD, '{{}}').split('{{}}');
      known.set(source, (template = new PassageTemplate(source, fieldsIn(source), between)));
    }
    return template;
  }

  /** What is wrong with one, to go on from its name; null: nothing. */
  static faultOf(source: string): string | null {
    const fields = fieldsIn(source);
    const rest = source.replaceAll(FIELD, '');
    if (rest.includes('{{') || rest.includes('}}')) return 'must have its fields in double braces, as {{text}}';
    if (fields.includes('')) return 'must not have an empty field';
    if (fields.length === 0) return 'must have a field, as {{text}}';
    if (fields.length > FIELDS_MAX) return `must have at most ${FIELDS_MAX} fields`;
    // Each time is another copy of it, which may be long.
    const twice = fields.find((field, i) => fields.indexOf(field) < i);
    return twice === undefined ? null : `must have each field once, and has {{${twice}}} twice`;
  }

  /** As it is kept: undefined of one that is the text alone. */
  static kept(source: string | undefined): string | undefined {
    return source !== undefined && ONLY_TEXT.test(source) ? undefined : source;
  }

  /** What the vector of an item is made of; null: all of its fields are missing. */
  passageOf({ text, metadata }: PassageSource): string | null {
    // Metadata may be long, and are gone through once, however many fields there are.
    const chosen = chosenMetadata(metadata, this.paths);
    const valueOf = new Map(this.paths.map((path) => [path, metadataScalars(chosen, path).map(String).join(BETWEEN)]));
    const values = this.fields.map((field) => (field === TEXT ? (text ?? '') : valueOf.get(field)!));
    if (values.every((value) => value.trim() === '')) return null;
    return this.between.map((part, i) => part + (values[i] ?? '')).join('');
  }

  /** Whether metadata that are merged into those of an item, or take their place, may change what it is made of. */
  isTouchedBy({ json, replaces }: { json: string; replaces: boolean }): boolean {
    if (this.paths.length === 0) return false;
    if (replaces) return true;
    const keys = Object.keys(JSON.parse(json) as object);
    // A key may have dots itself.
    return this.paths.some((path) => keys.some((key) => path === key || path.startsWith(`${key}.`)));
  }
}

function fieldsIn(source: string): string[] {
  return [...source.matchAll(FIELD)].map(([, field]) => field.trim());
}

/** What the vector of an item is made of in a collection; null: it has nothing of that. */
export function passageOf(embedding: CollectionEmbedding | null | undefined, item: PassageSource): string | null {
  const template = PassageTemplate.of(embedding);
  return template === null ? item.text : template.passageOf(item);
}
