import { randomBytes } from 'node:crypto';

/** Up to this many keys are searched one by one: metadata with many rare keys make very many small tables. */
const FEW_MAX = 8;
const FIRST_CAPACITY = 16;
/** How full the table may get: linear probing stays short below this. */
const FILL_MAX = 0.6;

/**
 * Gives keys numbers (ids) and finds them again. Linear probing (Knuth, TAOCP 3, 6.4, algorithm L, deletion by
 * algorithm R) over a table of ids. Takes a sixth of the memory of a Map, has no limit of 2^24 entries, and is quickly
 * made from a saved state.
 */
export class KeyTable<K extends number | string> {
  /** By id. Unused ids hold '' or any number. */
  readonly keys: K[] = [];
  /** The ids in use while they are few; afterwards null for good. */
  private few: number[] | null = [];
  /** By id. */
  private hashes = EMPTY;
  /** id + 1; 0 where empty. */
  private table = EMPTY;
  private count = 0;

  /** Number of keys. */
  get size(): number {
    return this.count;
  }

  /** The key's id, or −1. */
  find(key: K): number {
    if (this.few !== null) return this.findFew(this.few, key);
    const hash = hashOf(key);
    const { table, hashes, keys } = this;
    const mask = table.length - 1;
    for (let at = hash & mask; table[at] !== 0; at = (at + 1) & mask) {
      const id = table[at] - 1;
      if (hashes[id] === hash && keys[id] === key) return id;
    }
    return -1;
  }

  /**
   * The key's id. An absent key gets `idIfNew`, which must not be in use: the id of a removed key, or the next one
   * (`keys.length`).
   */
  findOrInsert(key: K, idIfNew: number): number {
    if (this.few !== null) {
      const found = this.findFew(this.few, key);
      if (found >= 0) return found;
      if (this.few.length < FEW_MAX) {
        this.few.push(idIfNew);
        this.keys[idIfNew] = key;
        this.count++;
        return idIfNew;
      }
      this.hashFew(this.few);
    }
    const hash = hashOf(key);
    const { table, hashes, keys } = this;
    const mask = table.length - 1;
    let at = hash & mask;
    for (; table[at] !== 0; at = (at + 1) & mask) {
      const id = table[at] - 1;
      if (hashes[id] === hash && keys[id] === key) return id;
    }
    table[at] = idIfNew + 1;
    keys[idIfNew] = key;
    if (idIfNew >= hashes.length) {
      this.hashes = new Int32Array(hashes.length * 2);
      this.hashes.set(hashes);
    }
    this.hashes[idIfNew] = hash;
    if (++this.count > table.length * FILL_MAX) this.grow();
    return idIfNew;
  }

  /** Removes the key with this id. `keys` keeps it until the id is used again or `blank` is called. */
  remove(id: number): void {
    this.count--;
    if (this.few !== null) {
      this.few.splice(this.few.indexOf(id), 1);
      return;
    }
    const { table, hashes } = this;
    const mask = table.length - 1;
    let hole = hashes[id] & mask;
    while (table[hole] !== id + 1) hole = (hole + 1) & mask;
    for (let at = (hole + 1) & mask; table[at] !== 0; at = (at + 1) & mask) {
      const home = hashes[table[at] - 1] & mask;
      // An entry may fill the hole unless that would move it before its home position.
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      table[hole] = table[at];
      hole = at;
    }
    table[hole] = 0;
  }

  /** Releases the memory of a removed key. An array of numbers must keep holding only numbers, so a number stays. */
  blank(id: number): void {
    if (typeof this.keys[id] === 'string') this.keys[id] = '' as K;
  }

  get memoryBytes(): number {
    return this.table.byteLength + this.hashes.byteLength + 8 * this.keys.length;
  }

  private findFew(few: number[], key: K): number {
    for (const id of few) if (this.keys[id] === key) return id;
    return -1;
  }

  private hashFew(few: number[]): void {
    this.few = null;
    this.hashes = new Int32Array(FIRST_CAPACITY);
    this.table = new Int32Array(2 * FIRST_CAPACITY);
    for (const id of few) {
      this.hashes[id] = hashOf(this.keys[id]);
      this.place(id);
    }
  }

  private place(id: number): void {
    const mask = this.table.length - 1;
    let at = this.hashes[id] & mask;
    while (this.table[at] !== 0) at = (at + 1) & mask;
    this.table[at] = id + 1;
  }

  private grow(): void {
    const old = this.table;
    this.table = new Int32Array(old.length * 2);
    for (let at = 0; at < old.length; at++) if (old[at] !== 0) this.place(old[at] - 1);
  }
}

/** Shared by all tables with few keys, and never written to. */
const EMPTY = new Int32Array(0);

/** Secret for the life of the process, so that nobody can choose values with colliding hashes. */
const SEED = randomBytes(4).readInt32LE();
const MULTIPLIER = randomBytes(4).readInt32LE() | 1;

const double = new Float64Array(1);
const words = new Int32Array(double.buffer);

function hashOf(key: number | string): number {
  let hash = SEED;
  if (typeof key === 'string') {
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), MULTIPLIER);
  } else {
    // Adding 0 turns −0 into 0, which it must equal.
    double[0] = key + 0;
    hash = Math.imul(Math.imul(hash ^ words[0], MULTIPLIER) ^ (hash >>> 15) ^ words[1], MULTIPLIER);
  }
  return mixed(hash);
}

/** The finaliser of MurmurHash3 (Appleby, 2011): every bit of the result depends on every bit of the input. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
