import type { SentQuery } from './judged';
import { isObject, readVariant, sentVariant, type Variant } from './variants';

/** What `quiver evaluate --file` takes: judged queries, and variants with how many hits count. */
export interface JudgedFile {
  judged: SentQuery[];
  /** null: the file has none. */
  variants: Variant[] | null;
  k: number | null;
}

export function fileText({ judged, variants, k }: JudgedFile): string {
  const sent = {
    judged,
    ...(variants !== null && { variants: variants.map(sentVariant) }),
    ...(k !== null && { k }),
  };
  return `${JSON.stringify(sent, null, 2)}\n`;
}

/**
 * Reads a file: the object of `fileText`, or the judged queries alone as a list. The service says what is wrong with
 * single queries. Throws what is wrong with the whole, for people.
 */
export function readFile(text: string): JudgedFile {
  let read: unknown;
  try {
    read = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new Error(`The file is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (Array.isArray(read)) return { judged: queriesOf(read), variants: null, k: null };
  if (!isObject(read) || !Array.isArray(read['judged']))
    throw new Error(
      'The file has no judged queries. It is {"judged": [{"query": "rivers", "relevant": {"a-1": 2}}]}, or the list.',
    );
  const { judged, variants, k } = read;
  if (variants !== undefined && !(Array.isArray(variants) && variants.length > 0 && variants.every(isObject)))
    throw new Error('The variants of the file must be a list of objects, such as [{"alpha": 0.5}].');
  return {
    judged: queriesOf(judged as unknown[]),
    variants: variants === undefined ? null : (variants as Record<string, unknown>[]).map(readVariant),
    k: typeof k === 'number' ? k : null,
  };
}

function queriesOf(list: unknown[]): SentQuery[] {
  const wrong = list.findIndex(
    (one) => !isObject(one) || typeof one['query'] !== 'string' || !isObject(one['relevant']),
  );
  if (wrong >= 0)
    throw new Error(`Query ${wrong + 1} of the file must be {"query": "rivers", "relevant": {"a-1": 2, "a-2": 1}}.`);
  if (list.length === 0) throw new Error('The file has no judged queries.');
  return list as SentQuery[];
}

/** A name for judgements, of what a file is called. */
export function nameOfFile(file: string): string {
  return file
    .replace(/\.json$/i, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100);
}
