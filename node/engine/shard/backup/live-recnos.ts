import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';

/**
 * Numbers of one page, one bit each. Dense for a shard that is loaded, and few pages where most of its records are
 * gone.
 */
const PAGE_RECNOS = 32_768;
const PAGE_BYTES = PAGE_RECNOS / 8;
const ENTRY_BYTES = 8 + PAGE_BYTES;
/** Pages of one part: 8 MiB before it is compressed. */
const PART_PAGES = 2048;

const compressed = promisify(deflateRaw);
const inflated = promisify(inflateRaw);

/**
 * Which records of a shard are there, by their numbers: an eighth of a byte each. As bytes: raw deflate of pages in
 * ascending order, each f64 number of the page and 4,096 bytes of bits, in little-endian order.
 */
export class LiveRecnos {
  private readonly pages = new Map<number, Uint8Array>();
  count = 0;

  add(recno: number): void {
    const number = Math.floor(recno / PAGE_RECNOS);
    let page = this.pages.get(number);
    if (page === undefined) this.pages.set(number, (page = new Uint8Array(PAGE_BYTES)));
    const bit = recno - number * PAGE_RECNOS;
    const mask = 1 << (bit & 7);
    if ((page[bit >> 3] & mask) !== 0) return;
    page[bit >> 3] |= mask;
    this.count += 1;
  }

  has(recno: number): boolean {
    const number = Math.floor(recno / PAGE_RECNOS);
    const bit = recno - number * PAGE_RECNOS;
    return ((this.pages.get(number)?.[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  }

  /** How many are there from `from` up to and including `to`. */
  countIn(from: number, to: number): number {
    let count = 0;
    for (let recno = from; recno <= to;) {
      const number = Math.floor(recno / PAGE_RECNOS);
      const end = Math.min(to, (number + 1) * PAGE_RECNOS - 1);
      const page = this.pages.get(number);
      if (page !== undefined) {
        for (let at = recno; at <= end; at += 1) {
          const bit = at - number * PAGE_RECNOS;
          if ((page[bit >> 3] & (1 << (bit & 7))) !== 0) count += 1;
        }
      }
      recno = end + 1;
    }
    return count;
  }

  async *toParts(): AsyncIterable<Buffer> {
    const numbers = [...this.pages.keys()].sort((a, b) => a - b);
    for (let at = 0; at < numbers.length; at += PART_PAGES) {
      const part = numbers.slice(at, at + PART_PAGES);
      const bytes = Buffer.allocUnsafe(part.length * ENTRY_BYTES);
      part.forEach((number, i) => {
        bytes.writeDoubleLE(number, i * ENTRY_BYTES);
        bytes.set(this.pages.get(number)!, i * ENTRY_BYTES + 8);
      });
      yield compressed(bytes, { level: 1 });
    }
  }

  /** Adds what a part holds. Errors: those of malformed bytes, as a plain Error. */
  async addPart(part: Buffer): Promise<void> {
    const bytes = await inflated(part, { maxOutputLength: PART_PAGES * ENTRY_BYTES });
    if (bytes.length % ENTRY_BYTES !== 0) throw new Error('a part of the wrong length');
    for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
      const number = bytes.readDoubleLE(at);
      if (!Number.isSafeInteger(number) || number < 0 || this.pages.has(number)) throw new Error('no page');
      const page = Uint8Array.prototype.slice.call(bytes, at + 8, at + ENTRY_BYTES);
      this.pages.set(number, page);
      for (let i = 0; i < PAGE_BYTES; i += 1) this.count += bitsOf(page[i]);
    }
  }
}

function bitsOf(byte: number): number {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
