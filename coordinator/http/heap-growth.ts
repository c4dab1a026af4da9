import { setFlagsFromString } from 'node:v8';

/** How fast the heaps of this process grow between two collections. */
export interface HeapGrowth {
  be(growth: 'fast' | 'small'): void;
}

/** By how much a heap may grow until it is collected, in percent; 0: as V8 thinks best. */
const PERCENT = { fast: 0, small: 50 } as const;

/**
 * V8 lets a heap grow to four times what is in use before it collects it, which is fastest. While answers hold much memory, that would be
 * several times what they hold. The setting is of all threads; V8 reads it after each collection.
 */
export class V8HeapGrowth implements HeapGrowth {
  private growth: 'fast' | 'small' = 'fast';

  be(growth: 'fast' | 'small'): void {
    if (growth === this.growth) return;
    this.growth = growth;
    setFlagsFromString(`--heap-growing-percent=${PERCENT[growth]}`);
  }
}
