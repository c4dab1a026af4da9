import { below, pick } from './fuzz-target';

/** Bytes that parsers take for something. */
const TELLING = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\r\n',
  '\n',
  '\0',
  '\u2028',
  '-',
  '1e999',
  '--',
  ';',
  '%00',
  '\xff',
  '\ud7ff',
  'Content-Length: 0\r\n',
  '{"',
  '\u0001',
].map((text) => Buffer.from(text));
const ROUNDS_MAX = 4;
const PIECE_MAX = 64;
/** How often a piece is repeated at most: enough to find what grows faster than its input, not enough to be a flood. */
const REPEATS_MAX = 2_000;

/** The bytes with one to four small changes: bits, pieces put in, taken out, doubled, moved, or repeated. */
export function mutateBytes(random: () => number, bytes: Buffer): Buffer {
  let changed: Buffer = Buffer.from(bytes);
  for (let rounds = 1 + below(random, ROUNDS_MAX); rounds > 0; rounds -= 1) changed = mutateOnce(random, changed);
  return changed;
}

function mutateOnce(random: () => number, bytes: Buffer): Buffer {
  const at = below(random, bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + below(random, PIECE_MAX));
  const [head, piece, tail] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (below(random, 7)) {
    case 0: {
      if (bytes.length === 0) return Buffer.from([below(random, 256)]);
      const flipped = Buffer.from(bytes);
      flipped[Math.min(at, bytes.length - 1)] ^= 1 << below(random, 8);
      return flipped;
    }
    case 1:
      return Buffer.concat([head, pick(random, TELLING), piece, tail]);
    case 2:
      return Buffer.concat([head, tail]);
    case 3:
      return Buffer.concat([head, piece, piece, tail]);
    case 4:
      return Buffer.concat([piece, head, tail]);
    case 5:
      return bytes.subarray(0, at);
    default:
      return Buffer.concat([head, ...new Array<Buffer>(1 + below(random, REPEATS_MAX)).fill(piece), tail]);
  }
}

/** The bytes with parts left out: halves first, then ever smaller pieces. */
export function smallerBytes(bytes: Buffer): Buffer[] {
  const smaller: Buffer[] = [];
  for (let size = Math.ceil(bytes.length / 2); size >= Math.max(1, bytes.length / 16); size = Math.floor(size / 2)) {
    for (let at = 0; at < bytes.length; at += size)
      smaller.push(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)]));
  }
  return smaller;
}
