/** The head of a request that is as plain as nearly all are. */
export interface RequestHead {
  method: string;
  target: string;
  /** By lower-case name. */
  headers: Readonly<Record<string, string>>;
  /** Bytes of the head, with the empty line behind it. */
  bytes: number;
  /** Bytes of the body behind it. */
  bodyBytes: number;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** Nobody sends as much without a reason, and whoever has one is served all the same. */
const HEAD_BYTES_MAX = 4096;
const HEADERS_MAX = 40;
const VERSION = ' HTTP/1.1';
const END = Buffer.from('\r\n\r\n');

/** Of a target in origin form (RFC 9112, 3.2.1): no spaces, nothing beyond ASCII. */
const TARGET = /^\/[\x21-\x7e]*$/;
/** A token (RFC 9110, 5.6.2), of those characters that names of headers have. */
const NAME = /^[A-Za-z0-9-]+$/;
/** Of printed characters, spaces and tabs; with nothing around it. */
const VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const LENGTH = /^(?:0|[1-9]\d{0,8})$/;

/**
 * What changes how a message is framed or answered. Whoever sends one of these needs a whole implementation of HTTP.
 */
const FRAMING: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'http2-settings',
  'proxy-connection',
]);

/**
 * Names as they come → in lower case. Clients send the same few again and again; strings that are known are quick keys.
 */
const lowerNames = new Map<string, string>();
const LOWER_NAMES_MAX = 256;

/** A head, and its text before and behind the length of the body; all of it before, where that has none. */
interface KnownHead {
  head: RequestHead;
  before: string;
  after: string;
}

/**
 * Reads the heads of one connection, those that have no part that could be understood in two ways. Its client sends the
 * same again and again, but for the length of the body, and what was read of the last one counts for these. It is no
 * other connection's: a head has a secret.
 */
export class RequestHeads {
  private last: KnownHead | null = null;

  /**
   * The head at the beginning of `bytes`: null for all that is rare, not complete or wrong, which is left to an
   * implementation of all of HTTP/1.1. So this one accepts no message that another reader would see end at another
   * byte.
   */
  read(bytes: Buffer): RequestHead | null {
    const end = bytes.indexOf(END);
    if (end < 0 || end > HEAD_BYTES_MAX) return null;
    const text = bytes.toString('latin1', 0, end + 2);
    const again = this.last === null ? null : readAgain(this.last, text);
    if (again !== null) return again;
    const known = readHead(text);
    if (known === null) return null;
    this.last = known;
    return known.head;
  }
}

/** The head of a text that differs from a known one in nothing but the length of the body; else null. */
function readAgain({ head, before, after }: KnownHead, text: string): RequestHead | null {
  if (!text.startsWith(before) || !text.endsWith(after)) return null;
  const { method, target, headers } = head;
  const bytes = text.length + 2;
  if (after === '')
    return text.length === before.length ? { method, target, headers: { ...headers }, bytes, bodyBytes: 0 } : null;
  const length = text.slice(before.length, text.length - after.length);
  return LENGTH.test(length)
    ? { method, target, headers: { ...headers, 'content-length': length }, bytes, bodyBytes: Number(length) }
    : null;
}

/** The head of this text, which ends with the last of its lines. */
function readHead(text: string): KnownHead | null {
  const lineEnd = text.indexOf('\r\n');
  const methodEnd = text.indexOf(' ');
  const targetEnd = lineEnd - VERSION.length;
  if (methodEnd < 0 || targetEnd <= methodEnd || !text.startsWith(VERSION, targetEnd)) return null;
  const method = text.slice(0, methodEnd);
  const target = text.slice(methodEnd + 1, targetEnd);
  if (!METHODS.has(method) || !TARGET.test(target)) return null;

  const headers: Record<string, string> = {};
  let count = 0;
  let bodyBytes = 0;
  let before = text;
  let after = '';
  for (let at = lineEnd + 2; at < text.length;) {
    const colon = text.indexOf(':', at);
    const next = text.indexOf('\r\n', at);
    if (colon < 0 || colon > next || ++count > HEADERS_MAX) return null;
    const name = lowerName(text.slice(at, colon));
    const value = trimmed(text, colon + 1, next);
    // What is given twice is joined, or the first counts, or the last: depending on its name.
    if (name === null || !VALUE.test(value) || headers[name] !== undefined || FRAMING.has(name)) return null;
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return null;
    if (name === 'content-encoding' && value !== 'identity') return null;
    if (name === 'content-length') {
      if (!LENGTH.test(value)) return null;
      bodyBytes = Number(value);
      const from = text.indexOf(value, colon + 1);
      before = text.slice(0, from);
      after = text.slice(from + value.length);
    }
    headers[name] = value;
    at = next + 2;
  }
  return { head: { method, target, headers, bytes: text.length + 2, bodyBytes }, before, after };
}

function lowerName(name: string): string | null {
  const known = lowerNames.get(name);
  if (known !== undefined) return known;
  if (!NAME.test(name)) return null;
  const lower = name.toLowerCase();
  // `constructor` and the like are found in every object.
  if (lower in {}) return null;
  if (lowerNames.size < LOWER_NAMES_MAX) lowerNames.set(name, lower);
  return lower;
}

/** The value without the optional white space around it. */
function trimmed(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
