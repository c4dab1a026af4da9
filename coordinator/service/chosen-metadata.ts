/** Pure: the parts of metadata that a caller named. */

/** Where a member of an object stands in the text. */
interface Member {
  /** Its key, as it is written. */
  key: string;
  start: number;
  end: number;
}

const NOTHING = '{}';
const QUOTE = 34;
const BACKSLASH = 92;
const OPENING = new Set([123, 91]);
const CLOSING = new Set([125, 93]);

/**
 * JSON text of the parts of `metadata`, JSON object text, that `paths` name, in the order of these; null: all of it. A path means what it
 * means in a filter: a key that equals the whole path has precedence; else the part before its first dot names an object, in which
 * the rest is looked up. Values are as they are written, so that no digit of a number is lost.
 *
 * @example chosenMetadata('{"title":"Rivers","author":{"name":"Ann","age":41}}', ['author.name']) // {"author":{"name":"Ann"}}
 */
export function chosenMetadata(metadata: string, paths: readonly string[] | null): string {
  if (paths === null || metadata === NOTHING) return metadata;
  return paths.length === 0 ? NOTHING : chosenFrom(metadata, 0, paths);
}

/** The same of the object that begins at `start`. */
function chosenFrom(text: string, start: number, paths: readonly string[]): string {
  const members = membersOf(text, start);
  /** By key: the paths within its value; null: all of it. */
  const chosen = new Map<string, string[] | null>();
  for (const path of paths) {
    if (members.has(path)) {
      chosen.set(path, null);
      continue;
    }
    const dot = path.indexOf('.');
    const head = path.slice(0, Math.max(0, dot));
    const member = dot < 0 ? undefined : members.get(head);
    if (member === undefined || text[member.start] !== '{') continue;
    const within = chosen.get(head);
    if (within === undefined) chosen.set(head, [path.slice(dot + 1)]);
    else within?.push(path.slice(dot + 1));
  }
  const parts: string[] = [];
  for (const [name, within] of chosen) {
    const { key, start: from, end } = members.get(name)!;
    const value = within === null ? text.slice(from, end) : chosenFrom(text, from, within);
    if (within === null || value !== NOTHING) parts.push(`${key}:${value}`);
  }
  return `{${parts.join(',')}}`;
}

/** The members of the object that begins at `start`, by their names. Of a name that is there twice, the last. */
function membersOf(text: string, start: number): Map<string, Member> {
  const members = new Map<string, Member>();
  let at = start + 1;
  for (;;) {
    const opening = startOfKey(text, at);
    if (opening < 0) return members;
    const behind = endOfString(text, opening);
    const key = text.slice(opening, behind);
    let from = text.indexOf(':', behind) + 1;
    while (isSpace(text.charCodeAt(from))) from += 1;
    const end = endOfValue(text, from);
    members.set(key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1), { key, start: from, end });
    at = end;
  }
}

/** Where the next key of an object begins; −1: there is none. */
function startOfKey(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i;
    if (CLOSING.has(code)) return -1;
  }
  return -1;
}

/** Behind the closing quote of the string whose opening one is at `at`. */
function endOfString(text: string, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i += 1;
    else if (code === QUOTE) return i + 1;
  }
}

/** Behind a value of an object, without the space that may follow. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i) - 1;
      if (depth === 0) return i + 1;
    } else if (OPENING.has(code)) {
      depth += 1;
    } else if (CLOSING.has(code)) {
      // The end of the object around a number or a word.
      if (depth === 0) return trimmedEnd(text, i);
      depth -= 1;
      if (depth === 0) return i + 1;
    } else if (depth === 0 && code === 44) {
      return trimmedEnd(text, i);
    }
  }
  return text.length;
}

function trimmedEnd(text: string, end: number): number {
  let at = end;
  while (isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}
