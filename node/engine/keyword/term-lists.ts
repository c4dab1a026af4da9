/** log2 of the entries per block: a block is 1 MiB, so growing never copies more than the table of blocks. */
const BLOCK_BITS = 18;
const BLOCK_SIZE = 1 << BLOCK_BITS;
const BLOCK_MASK = BLOCK_SIZE - 1;
/** Entries of the first block, 4 KiB, which doubles until it is as large as the others: most shards have few texts. */
const FIRST_SIZE = 1 << 10;

/**
 * The distinct terms of each document, one list after the other in the order of the documents. With them, removing a
 * document is exact without its text. A list is its length followed by its term numbers; lists may cross blocks.
 */
export class TermLists {
  private readonly blocks: Uint32Array[] = [];
  private end = 0;

  /** Appends a list of the first `count` entries of `terms` and returns its position. */
  append(terms: Uint32Array, count: number): number {
    const position = this.end;
    this.reserve(count + 1);
    this.write(position, count);
    for (let i = 0; i < count; i++) this.write(position + 1 + i, terms[i]);
    return position;
  }

  /** Appends a list with room for `count` terms, which {@link set} fills; returns its position. */
  appendEmpty(count: number): number {
    const position = this.end;
    this.reserve(count + 1);
    this.write(position, count);
    return position;
  }

  set(position: number, index: number, term: number): void {
    this.write(position + 1 + index, term);
  }

  length(position: number): number {
    return this.read(position);
  }

  term(position: number, index: number): number {
    return this.read(position + 1 + index);
  }

  /** Copies a list into `target`, which has room for it; returns its length. */
  copy(position: number, target: Uint32Array): number {
    const count = this.read(position);
    const from = (position + 1) & BLOCK_MASK;
    if (from + count > BLOCK_SIZE || count === 0) {
      for (let i = 0; i < count; i++) target[i] = this.read(position + 1 + i);
      return count;
    }
    const block = this.blocks[(position + 1) >>> BLOCK_BITS];
    for (let i = 0; i < count; i++) target[i] = block[from + i];
    return count;
  }

  /** Moves the list at `from` down to `to` (to ≤ from, over lists that are no longer read); returns its new end. */
  moveDown(from: number, to: number): number {
    const size = this.read(from) + 1;
    if (from !== to) {
      for (let i = 0; i < size; i++) this.write(to + i, this.read(from + i));
    }
    return to + size;
  }

  /** Drops everything from `end` on. */
  truncate(end: number): void {
    this.end = end;
    this.blocks.length = Math.ceil(end / BLOCK_SIZE);
  }

  get memoryBytes(): number {
    return this.blocks.length === 0 ? 0 : ((this.blocks.length - 1) * BLOCK_SIZE + this.blocks[0].length) * 4;
  }

  private reserve(count: number): void {
    this.end += count;
    if (this.end > 0xffffffff) throw new Error('keyword index: more than 2^32 postings in one shard');
    this.growFirst();
    while (this.blocks.length * BLOCK_SIZE < this.end) this.blocks.push(new Uint32Array(BLOCK_SIZE));
  }

  private growFirst(): void {
    const first = this.blocks[0];
    const needed = Math.min(this.end, BLOCK_SIZE);
    if ((first?.length ?? 0) >= needed) return;
    let size = FIRST_SIZE;
    while (size < needed) size *= 2;
    const grown = new Uint32Array(size);
    if (first !== undefined) grown.set(first);
    this.blocks[0] = grown;
  }

  private read(position: number): number {
    return this.blocks[position >>> BLOCK_BITS][position & BLOCK_MASK];
  }

  private write(position: number, value: number): void {
    this.blocks[position >>> BLOCK_BITS][position & BLOCK_MASK] = value;
  }
}
