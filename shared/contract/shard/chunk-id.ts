/**
 * Ids of the chunks of a document that are all in one shard, whatever the number of shards: `000012-k3Xf9aQz-<document
 * id>`. An item is in the shard of the hash of its id (shard-of.ts), and here the characters behind the number are such
 * that the hash has one state once it has read the number and them. What follows is the same for all chunks of a
 * document, and so is the hash. Documents differ, and spread over the shards as other items do.
 *
 * So a document is written, replaced and deleted by one entry of one shard's log, in collections of any age, and a
 * reshard or restore keeps its chunks together.
 */

/** Chunks of one document, at most: the numbers that have six digits. */
export const DOCUMENT_CHUNKS_MAX = 1_000_000;

const INDEX_DIGITS = 6;
const FILL = 8;
/** An UUID as text. */
const DOCUMENT_ID = 36;
const DOCUMENT_AT = INDEX_DIGITS + 1 + FILL + 1;
const LENGTH = DOCUMENT_AT + DOCUMENT_ID;
const DASH = 0x2d;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~';
const FORM = /^\d{6}-[\w~]{8}-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** The state that the hash has before the document id; any number would do, and it must never change. */
const MEETING_STATE = 0x51ab8f3d | 0;

/** The id of a chunk. `documentId`: an UUID in lower case. */
export function documentChunkId(documentId: string, index: number): string {
  return `${String(index).padStart(INDEX_DIGITS, '0')}-${fillOf(index)}-${documentId}`;
}

/** The document of an id that has the form of those of its chunks; null: it has another. */
export function documentOfChunk(externalId: string): string | null {
  return isChunkId(externalId) ? externalId.slice(DOCUMENT_AT) : null;
}

/** The number of a chunk, by an id of that form; NaN: it has none. */
export function indexOfChunk(externalId: string): number {
  return /^\d+$/.test(externalId.slice(0, INDEX_DIGITS)) ? Number(externalId.slice(0, INDEX_DIGITS)) : NaN;
}

/** Whether an id has the form of {@link documentChunkId}. */
export function isChunkId(externalId: string): boolean {
  return externalId.length === LENGTH && FORM.test(externalId);
}

/** By index. They are few thousand, but for giants. */
const fills = new Map<number, string>();
const FILLS_KEPT = 100_000;

function fillOf(index: number): string {
  let fill = fills.get(index);
  if (fill !== undefined) return fill;
  fill = foundFill(index);
  if (fills.size < FILLS_KEPT) fills.set(index, fill);
  return fill;
}

/**
 * Meets in the middle: from the number on, states behind each beginning of the characters are made until one is among
 * those from which one of the ends leads to MEETING_STATE. Of 2^32 states, 2^18 are, so that takes some 2^14 attempts.
 */
function foundFill(index: number): string {
  const endings = (endingStates ??= new EndingStates());
  const digits = String(index).padStart(INDEX_DIGITS, '0');
  let state = 0;
  for (let at = 0; at < INDEX_DIGITS; at += 2)
    state = read(state, pair(digits.charCodeAt(at), digits.charCodeAt(at + 1)));
  const { mixes } = endings;
  for (let first = 0; first < ALPHABET.length; first += 1) {
    const second = read(state, pair(DASH, ALPHABET.charCodeAt(first)));
    for (let one = 0; one < PAIRS; one += 1) {
      const third = readMixed(second, mixes[one]);
      for (let other = 0; other < PAIRS; other += 1) {
        const found = readMixed(third, mixes[other]);
        if (!endings.mayHave(found)) continue;
        const ending = endings.find(found);
        if (ending >= 0) return ALPHABET[first] + textOf(one) + textOf(other) + endingText(ending);
      }
    }
  }
  // Of 2^30 beginnings, one in 2^14 is right.
  throw new Error(`no characters bring chunk ${index} to its shard`);
}

/** Two characters of the alphabet, as a number below this. */
const PAIRS = ALPHABET.length ** 2;
const ENDINGS = PAIRS * ALPHABET.length;
const CELLS = 2 * ENDINGS;
/** A bit for each of so many groups of states says whether one of the group is there: one group in 16 has one. */
const GROUPS = 16 * ENDINGS;

/** The states from which three characters and a dash lead to MEETING_STATE, with these. */
class EndingStates {
  private readonly states = new Int32Array(CELLS);
  /** Behind each state; 0: the cell is empty. */
  private readonly endings = new Int32Array(CELLS);
  private readonly groups = new Int32Array(GROUPS / 32);
  /** Of two characters of the alphabet, what the hash makes of them. */
  readonly mixes = Int32Array.from({ length: PAIRS }, (_, two) => mix(letters(two)));

  constructor() {
    for (let last = 0; last < ALPHABET.length; last += 1) {
      const before = unread(MEETING_STATE, pair(ALPHABET.charCodeAt(last), DASH));
      for (let two = 0; two < PAIRS; two += 1) this.add(unread(before, letters(two)), two * ALPHABET.length + last);
    }
  }

  /** False for most states that are not there, and faster than {@link find}, which reads more memory. */
  mayHave(state: number): boolean {
    return ((this.groups[(state & (GROUPS - 1)) >>> 5] >>> (state & 31)) & 1) === 1;
  }

  /** -1: none. */
  find(state: number): number {
    for (let cell = state & (CELLS - 1); this.endings[cell] !== 0; cell = (cell + 1) & (CELLS - 1))
      if (this.states[cell] === state) return this.endings[cell] - 1;
    return -1;
  }

  /** Of several with one state, the first stays. */
  private add(state: number, ending: number): void {
    let cell = state & (CELLS - 1);
    while (this.endings[cell] !== 0) {
      if (this.states[cell] === state) return;
      cell = (cell + 1) & (CELLS - 1);
    }
    this.states[cell] = state;
    this.endings[cell] = ending + 1;
    this.groups[(state & (GROUPS - 1)) >>> 5] |= 1 << (state & 31);
  }
}

let endingStates: EndingStates | null = null;

function endingText(ending: number): string {
  return textOf(Math.floor(ending / ALPHABET.length)) + ALPHABET[ending % ALPHABET.length];
}

function textOf(two: number): string {
  return ALPHABET[Math.floor(two / ALPHABET.length)] + ALPHABET[two % ALPHABET.length];
}

function letters(two: number): number {
  return pair(ALPHABET.charCodeAt(Math.floor(two / ALPHABET.length)), ALPHABET.charCodeAt(two % ALPHABET.length));
}

function pair(low: number, high: number): number {
  return low | (high << 16);
}

// The steps of MurmurHash3 as hashExternalId takes them, and back.

const STEP_ADDED = 0xe6546b64;
const STEP_FACTOR = 5;
/** Times STEP_FACTOR it is 1, of 32 bits. */
const STEP_INVERSE = 0xcccccccd;
const STEP_BITS = 13;

/** The state behind two code units. */
function read(state: number, units: number): number {
  return readMixed(state, mix(units));
}

function readMixed(state: number, mix: number): number {
  const mixed = state ^ mix;
  return (Math.imul((mixed << STEP_BITS) | (mixed >>> (32 - STEP_BITS)), STEP_FACTOR) + STEP_ADDED) | 0;
}

/** The state before them. */
function unread(state: number, units: number): number {
  const rotated = Math.imul(state - STEP_ADDED, STEP_INVERSE);
  return ((rotated >>> STEP_BITS) | (rotated << (32 - STEP_BITS))) ^ mix(units);
}

function mix(units: number): number {
  const mixed = Math.imul(units, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
