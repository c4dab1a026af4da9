import { randomInt } from 'node:crypto';

const EMPTY = 0;
const SLOTS_MIN = 64;
/** Open addressing with linear probing has short probes up to this load. */
const LOAD_MAX = 0.7;

/**
 * Finds the slot of an external id: a hash table of slot numbers (Knuth, TAOCP vol. 3, 6.4, linear probing; a deletion
 * moves later entries back). The caller keeps the ids and compares them. Takes 8 to 12 bytes per item.
 */
export class IdTable {
  /** slot + 1, or EMPTY. */
  private cells = new Uint32Array(SLOTS_MIN);
  private count = 0;
  /** By slot: the hash of its id. */
  private hashes = new Uint32Array(SLOTS_MIN);

  get memoryBytes(): number {
    return this.cells.byteLength + this.hashes.byteLength;
  }

  /** The slot with this hash for which `isIt` is true, or -1. */
  find(hash: number, isIt: (slot: number) => boolean): number {
    const mask = this.cells.length - 1;
    for (let cell = spread(hash) & mask; this.cells[cell] !== EMPTY; cell = (cell + 1) & mask) {
      const slot = this.cells[cell] - 1;
      if (this.hashes[slot] === hash && isIt(slot)) return slot;
    }
    return -1;
  }

  /**
   * For each hash the first slot with it, or -1: next to always that of the id. Many take half of the time of so many
   * calls of `find`, because the processor waits for the memory of several at once.
   */
  firstOf(hashes: Uint32Array): Int32Array {
    const { cells, hashes: known } = this;
    const mask = cells.length - 1;
    const found = new Int32Array(hashes.length);
    for (let i = 0; i < hashes.length; i++) found[i] = cells[spread(hashes[i]) & mask];
    for (let i = 0; i < hashes.length; i++) {
      let cell = spread(hashes[i]) & mask;
      let entry = found[i];
      while (entry !== EMPTY && known[entry - 1] !== hashes[i]) entry = cells[(cell = (cell + 1) & mask)];
      found[i] = entry - 1;
    }
    return found;
  }

  /** Adds a slot that is not in the table. */
  add(hash: number, slot: number): void {
    if (this.count + 1 > this.cells.length * LOAD_MAX) this.grow();
    if (slot >= this.hashes.length) this.growHashes(Math.max(this.hashes.length * 1.5, slot + 1));
    this.hashes[slot] = hash;
    this.insert(slot);
    this.count += 1;
  }

  /** Makes room for `count` slots below `slots` at once. */
  reserve(count: number, slots: number): void {
    while (count + 1 > this.cells.length * LOAD_MAX) this.grow();
    if (slots > this.hashes.length) this.growHashes(slots);
  }

  /** Removes a slot that is in the table. */
  remove(slot: number): void {
    const mask = this.cells.length - 1;
    let hole = spread(this.hashes[slot]) & mask;
    while (this.cells[hole] !== slot + 1) hole = (hole + 1) & mask;
    for (let cell = (hole + 1) & mask; this.cells[cell] !== EMPTY; cell = (cell + 1) & mask) {
      const home = spread(this.hashes[this.cells[cell] - 1]) & mask;
      // The entry may move back to the hole unless its home is cyclically after the hole.
      const homeIsAfterHole = hole <= cell ? home > hole && home <= cell : home > hole || home <= cell;
      if (homeIsAfterHole) continue;
      this.cells[hole] = this.cells[cell];
      hole = cell;
    }
    this.cells[hole] = EMPTY;
    this.count -= 1;
  }

  private insert(slot: number): void {
    const mask = this.cells.length - 1;
    let cell = spread(this.hashes[slot]) & mask;
    while (this.cells[cell] !== EMPTY) cell = (cell + 1) & mask;
    this.cells[cell] = slot + 1;
  }

  private growHashes(slots: number): void {
    const grown = new Uint32Array(Math.ceil(slots));
    grown.set(this.hashes);
    this.hashes = grown;
  }

  private grow(): void {
    const old = this.cells;
    this.cells = new Uint32Array(old.length * 2);
    for (const cell of old) if (cell !== EMPTY) this.insert(cell - 1);
  }
}

/** Different in each process, so that nobody can choose ids that collide; hashes are never stored. */
const SEED = randomInt(2 ** 32);

/** FNV-1a over the UTF-16 code units, with a start value that differs between processes. */
export function hashOfId(externalId: string): number {
  let hash = SEED;
  for (let i = 0; i < externalId.length; i++) hash = Math.imul(hash ^ externalId.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** {@link hashOfId} of an id stored as ASCII in `bytes` from `from` to `to`; -1 if it is not ASCII. */
export function hashOfAscii(bytes: Uint8Array, from: number, to: number): number {
  let hash = SEED;
  for (let i = from; i < to; i++) {
    const byte = bytes[i];
    if (byte > 0x7f) return -1;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 0;
}

/** Spreads the hash over all bits (murmur3's finaliser): consecutive ids differ in only a few bits. */
function spread(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
