import { setFlagsFromString } from 'node:v8';

/** How fast the heaps of this process grow between two collections. */
export interface HeapGrowth {
  be(growth: 'fast' | 'small'): void;
}

/** By how much a heap may grow until it is collected, in percent; 0: as V8 thinks best. */
const PERCENT = { fast: 0, small: 50 } as const;

/** What threads of a process tell each other of how their heaps grow. */
export function sharedHeapGrowth(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/**
 * V8 lets a heap grow to four times what is in use before it collects it, which is fastest. While answers hold much
 * memory, that would be several times what they hold. The setting is of all threads, so they share what it is; V8 reads
 * it after each collection.
 */
export class V8HeapGrowth implements HeapGrowth {
  constructor(
    private readonly shared: Int32Array,
    private readonly set: (flag: string) => void = setFlagsFromString,
  ) {}

  be(growth: 'fast' | 'small'): void {
    const percent = PERCENT[growth];
    if (Atomics.load(this.shared, 0) === percent || Atomics.exchange(this.shared, 0, percent) === percent) return;
    this.set(`--heap-growing-percent=${percent}`);
  }
}
