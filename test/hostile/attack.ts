import { gzipSync } from 'node:zlib';

/** The collections of a stage: everybody reads `library`; holders of a readwrite key spoil `scratch`. */
export const LIBRARY = 'library';
export const SCRATCH = 'scratch';
export const DIM = 32;
/** Items of `library`, with ids book-0, book-1 and so on. */
export const BOOKS = 20_000;

/** Items of the greatest size, and as many with texts alone, whose vectors are made of these. */
export const GIANTS = 'giants';
export const GIANT_TEXTS = 'giant-texts';
export const GIANT_ITEMS = 150;
export const GIANT_METADATA_BYTES = 64 * 1024;
export const GIANT_TEXT_BYTES = 256 * 1024;

/** One request of an attack, as it goes out. */
export interface Shot {
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE' | 'PATCH';
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

/**
 * One way of being a nuisance. `shots` are sent one after the other, again and again, by each client over `lanes`
 * connections of its own; `random` is seeded, answers in [0, 1).
 *
 * - `shoot`: the answer is read to its end, then comes the next shot.
 * - `stall`: a request each on so many connections, whose answers nobody reads.
 * - `sip`: the same, but a byte is read now and then.
 * - `pace`: the same, but as much is read as a client must take (STALL_BYTES_PER_SECOND), and no more.
 * - `drip`: the head of a shot, then one byte of its body every now and then.
 * - `pipeline`: many shots at once on a connection, whatever the answers.
 * - `streams`: as many shots at once as HTTP/2 lets a connection have, again and again.
 * - `cancel`: the same, each shot cancelled as soon as it is sent (as in CVE-2023-44487).
 * - `windowless`: the same as `streams`, and nothing of an answer may be sent.
 * - `resets`: hundreds of shots with their cancellation in one write, again and again.
 * - `pieces`: as many shots as HTTP/2 lets a connection have, the head, the body and the reset of each in one write.
 *
 * Strangers (see `door`) send `volleys` and no shots:
 *
 * - `volley`: one, in one write, and the connection ends soon.
 * - `idle`: one, and nothing more on a connection that stays.
 * - `trickle`: a byte of one every now and then.
 */
export interface Attack {
  name: string;
  role: 'readonly' | 'readwrite';
  mode: 'shoot' | 'stall' | 'sip' | 'pace' | 'drip' | 'pipeline' | Http2Mode | 'volley' | 'idle' | 'trickle';
  /** Connections of one client. */
  lanes: number;
  /** Whether memory may grow by no more than what answers may hold: a run fails where it does. */
  holdsAnswers: boolean;
  /** Whether it needs TLS at the API port, as HTTP/2 does. */
  isSecured: boolean;
  /** Of a stranger: the kind of port, each of which has its part of the connections. */
  door: Door | null;
  /** Whether a stranger's connection begins with TLS. */
  bySecured: boolean;
  shots(random: () => number): Shot[];
  volleys(random: () => number): Buffer[];
}

/** Ports of processes: of the API, of operations, and of the members of a cluster. */
export type Door = 'api' | 'ops' | 'rpc';
export type Http2Mode = (typeof HTTP2_MODES)[number];
export const HTTP2_MODES = ['streams', 'cancel', 'windowless', 'resets', 'pieces'] as const;

export function isByHttp2(mode: Attack['mode']): mode is Http2Mode {
  return (HTTP2_MODES as readonly string[]).includes(mode);
}

export function attack(given: Pick<Attack, 'name' | 'shots'> & Partial<Attack>): Attack {
  const isSecured = given.mode !== undefined && isByHttp2(given.mode);
  return {
    role: 'readonly',
    mode: 'shoot',
    lanes: 1,
    holdsAnswers: false,
    isSecured,
    door: null,
    bySecured: false,
    volleys: () => [],
    ...given,
  };
}

export function post(path: string, body: object | string | Buffer, headers: Record<string, string> = {}): Shot {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body: bytes };
}

export function get(path: string, headers: Record<string, string> = {}): Shot {
  return { method: 'GET', path, headers, body: null };
}

/** `head`, so many times `unit`, `tail`, as gzip: each a member of its own, and members in a row are one text. */
export function gzipped(head: string, unit: string, count: number, tail: string): Buffer {
  const members = Math.ceil(count / UNITS_PER_MEMBER);
  const member = gzipSync(unit.repeat(UNITS_PER_MEMBER));
  return Buffer.concat([gzipSync(head), ...new Array<Buffer>(members).fill(member), gzipSync(tail)]);
}

/** Enough that the frame of a member counts for nothing. */
const UNITS_PER_MEMBER = 500_000;

export function library(verb: string): string {
  return `/v1/collections/${LIBRARY}/${verb}`;
}

export function giants(verb: string): string {
  return `/v1/collections/${GIANTS}/${verb}`;
}

export function scratch(verb: string): string {
  return `/v1/collections/${SCRATCH}/${verb}`;
}

export function randomVector(random: () => number): number[] {
  return Array.from({ length: DIM }, () => Math.round((random() * 2 - 1) * 1e4) / 1e4);
}

/** `count` words of a vocabulary of 5,000, which the texts of `library` are made of. */
export function words(random: () => number, count: number): string {
  return Array.from({ length: count }, () => `word${Math.floor(5_000 * random() ** 2)}`).join(' ');
}
