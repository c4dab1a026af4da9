import { PackedEntries } from '../../kv/packed-entries';
import { orderKey } from '../../records/record-keys';

/** Entries of one run, and about the bytes of their keys: what is in memory at once, however large the shard is. */
const ENTRIES_MAX = 262_144;
const BYTES_MAX = 16 * 1024 * 1024;
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Keys of the order of insertion, gathered as their records come and given out sorted: records come in another order.
 */
export class OrderRun {
  private readonly stamps = new Float64Array(ENTRIES_MAX);
  private readonly recnos = new Float64Array(ENTRIES_MAX);
  private readonly ends = new Uint32Array(ENTRIES_MAX);
  private keys = Buffer.allocUnsafe(1024 * 1024);
  private count = 0;
  private isAscending = true;

  get isFull(): boolean {
    return this.count === ENTRIES_MAX || this.endOf(this.count - 1) >= BYTES_MAX;
  }

  add(stamp: number, externalId: string, recno: number): void {
    const { count } = this;
    const key = orderKey(stamp, externalId);
    const from = this.endOf(count - 1);
    if (from + key.length > this.keys.length)
      this.keys = Buffer.concat([this.keys], Math.max(from + key.length, this.keys.length * 2));
    this.keys.set(key, from);
    this.ends[count] = from + key.length;
    this.stamps[count] = stamp;
    this.recnos[count] = recno;
    if (count > 0 && stamp <= this.stamps[count - 1]) this.isAscending = false;
    this.count = count + 1;
  }

  /** What was gathered, as packed entries in the order of their keys; it is empty then. */
  async *take(): AsyncIterable<Buffer> {
    const page = new PackedEntries(PAGE_BYTES);
    const recno = Buffer.allocUnsafe(8);
    const { count } = this;
    const order = this.isAscending ? null : this.sorted();
    this.count = 0;
    this.isAscending = true;
    for (let i = 0; i < count; i += 1) {
      const at = order === null ? i : order[i];
      recno.writeDoubleLE(this.recnos[at]);
      page.add(this.keyAt(at), recno);
      if (page.length >= PAGE_BYTES - 1024) yield page.take();
    }
    yield page.take();
  }

  private sorted(): Uint32Array {
    const { stamps } = this;
    return Uint32Array.from({ length: this.count }, (_, i) => i).sort(
      (a, b) => stamps[a] - stamps[b] || Buffer.compare(this.keyAt(a), this.keyAt(b)),
    );
  }

  private keyAt(i: number): Buffer {
    return this.keys.subarray(this.endOf(i - 1), this.ends[i]);
  }

  private endOf(i: number): number {
    return i < 0 ? 0 : this.ends[i];
  }
}
