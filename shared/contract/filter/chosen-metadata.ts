import { QuiverError } from '../../base/errors/quiver-error';
import type { JsonObject, Scalar } from './filter';
import { lookUpPath, scalarsOf } from './metadata-path';

/** Pure: the parts of metadata that a caller named. */

const NOTHING = '{}';
/** What ends or begins something within a list or an object. */
const MARKS = /["{}[\]]/g;
/** What ends a number or a word. */
const ENDS = /[\s,}\]]/g;
const SPACES = /\s*/y;

/** Where the value of a path stands: the keys that lead to it, as they are written, and its place in the text. */
interface TextSpan {
  keys: readonly string[];
  start: number;
  end: number;
}

/** A chosen part of an object: places in the text, by key, or parts further inside. */
type Chosen = Map<string, TextSpan | Chosen>;

/**
 * JSON text of the parts of `metadata`, JSON object text, that `paths` name, in the order of these; null: all of it. A
 * path means what it means in a filter: a key that equals the whole path has precedence; else the part before its first
 * dot names an object, in which the rest is looked up. Values are as they are written, so that no digit of a number is
 * lost. The text is gone through once, however many paths there are. Errors: storage_damaged, when it is no JSON
 * object.
 *
 * @example chosenMetadata('{"title":"Rivers","author":{"name":"Ann","age":41}}', ['author.name']) //
 * {"author":{"name":"Ann"}}
 */
export function chosenMetadata(metadata: string, paths: readonly string[] | null): string {
  if (paths === null || metadata === NOTHING) return metadata;
  if (paths.length === 0) return NOTHING;
  const scan = new MetadataScan(metadata);
  scan.object(
    [...new Set(paths)].map((path) => ({ path, rest: path })),
    [],
  );
  const chosen: Chosen = new Map();
  for (const path of paths) {
    const place = scan.found.get(path);
    if (place !== undefined) add(chosen, place);
  }
  return written(metadata, chosen);
}

/** The same for whoever keeps it: it keeps none of the metadata alive beside what it says. */
export function keptMetadata(metadata: string, paths: readonly string[] | null): string {
  const chosen = chosenMetadata(metadata, paths);
  // A part of a text is a view of it until it is copied.
  return chosen === metadata || chosen === NOTHING ? chosen : Buffer.from(chosen, 'utf16le').toString('utf16le');
}

/**
 * The numbers, texts and booleans that an item has under a path: its value there or, of a list, each of its elements
 * that is one. Only that value is parsed: metadata may be long, and have the text of the item.
 */
export function metadataScalars(metadata: string, path: string): Exclude<Scalar, null>[] {
  const chosen = chosenMetadata(metadata, [path]);
  if (chosen === NOTHING) return [];
  return scalarsOf(lookUpPath(JSON.parse(chosen) as JsonObject, path)).filter((one) => one !== null);
}

/** A path, and what of it is still to be looked up. */
interface Wanted {
  path: string;
  rest: string;
}

/** One way through the text. */
class MetadataScan {
  /** By path. */
  readonly found = new Map<string, TextSpan>();

  constructor(private readonly text: string) {}

  /** Looks through the object that begins at `start` (default: the whole). Answers where it ends. */
  object(wanted: readonly Wanted[], keys: readonly string[], start = 0): number {
    const whole = new Map(wanted.map(({ path, rest }) => [rest, path]));
    const within = new Map<string, Wanted[]>();
    for (const { path, rest } of wanted) {
      const dot = rest.indexOf('.');
      if (dot < 0) continue;
      const [head, inner] = [rest.slice(0, dot), { path, rest: rest.slice(dot + 1) }];
      const others = within.get(head);
      if (others === undefined) within.set(head, [inner]);
      else others.push(inner);
    }
    /** Paths that a key of this object equals: nothing further inside is meant by them. */
    const taken = new Set<string>();
    let at = this.behindSpaces(start + 1);
    while (this.text[at] !== '}') {
      if (this.text[at] !== '"') throw this.damaged();
      const keyEnd = this.stringEnd(at);
      const key = this.text.slice(at, keyEnd);
      const colon = this.behindSpaces(keyEnd);
      if (this.text[colon] !== ':') throw this.damaged();
      const from = this.behindSpaces(colon + 1);
      const name = key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
      at = this.member([...keys, key], from, {
        path: whole.get(name),
        within: within.get(name)?.filter(({ path }) => !taken.has(path)) ?? [],
      });
      const path = whole.get(name);
      if (path !== undefined) taken.add(path);
      at = this.behindSpaces(at);
      if (this.text[at] === ',') at = this.behindSpaces(at + 1);
      else if (this.text[at] !== '}') throw this.damaged();
    }
    return at + 1;
  }

  /**
   * A member of which `path` means the whole value, and `within` parts of it. Of a name that is there twice, the last
   * counts.
   */
  private member(
    keys: readonly string[],
    from: number,
    { path, within }: { path: string | undefined; within: readonly Wanted[] },
  ): number {
    for (const inner of within) this.found.delete(inner.path);
    const end = within.length > 0 && this.text[from] === '{' ? this.object(within, keys, from) : this.valueEnd(from);
    if (path !== undefined) this.found.set(path, { keys, start: from, end });
    return end;
  }

  private behindSpaces(from: number): number {
    const code = this.text.charCodeAt(from);
    if (code !== 32 && !(code >= 9 && code <= 13)) return from;
    SPACES.lastIndex = from;
    SPACES.test(this.text);
    return SPACES.lastIndex;
  }

  /** Behind the closing quote of the string whose opening one is at `at`. */
  private stringEnd(at: number): number {
    for (let quote = this.text.indexOf('"', at + 1); ; quote = this.text.indexOf('"', quote + 1)) {
      if (quote < 0) throw this.damaged();
      let first = quote;
      while (this.text.charCodeAt(first - 1) === 92) first -= 1;
      // An even number of backslashes are characters of the string.
      if ((quote - first) % 2 === 0) return quote + 1;
    }
  }

  private valueEnd(start: number): number {
    const first = this.text[start];
    if (first === '"') return this.stringEnd(start);
    if (first !== '{' && first !== '[') return this.next(ENDS, start);
    let depth = 1;
    for (let at = start + 1; ; at += 1) {
      at = this.next(MARKS, at);
      const mark = this.text[at];
      if (mark === '"') at = this.stringEnd(at) - 1;
      else depth += mark === '{' || mark === '[' ? 1 : -1;
      if (depth === 0) return at + 1;
    }
  }

  private next(marks: RegExp, from: number): number {
    marks.lastIndex = from;
    const found = marks.exec(this.text);
    if (found === null) throw this.damaged();
    return found.index;
  }

  private damaged(): QuiverError {
    return new QuiverError('storage_damaged', 'metadata that are stored are no JSON object');
  }
}

/** Adds a place to what is chosen, unless a value around it is. */
function add(chosen: Chosen, place: TextSpan): void {
  let around = chosen;
  for (const key of place.keys.slice(0, -1)) {
    const inner = around.get(key) ?? new Map<string, TextSpan | Chosen>();
    if (!(inner instanceof Map)) return;
    around.set(key, inner);
    around = inner;
  }
  around.set(place.keys.at(-1)!, place);
}

function written(text: string, chosen: Chosen): string {
  return `{${[...chosen].map(([key, part]) => `${key}:${part instanceof Map ? written(text, part) : text.slice(part.start, part.end)}`).join(',')}}`;
}
