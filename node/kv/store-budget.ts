import { type BudgetHandle, storeBinding } from './store-binding';

export interface StoreBudgetSizes {
  /** For pieces of files that are kept for the next read. */
  cacheBytes: number;
  /** For writes that are in a log and not yet in a file; a store that would go beyond writes a file. */
  writeBufferBytes: number;
}

/** What a store on its own may take: a test's, or a tool's. */
const ALONE: StoreBudgetSizes = { cacheBytes: 32 * 1024 * 1024, writeBufferBytes: 64 * 1024 * 1024 };

/** Memory that all stores of a process share, so that many of them cost no more than one. */
export class StoreBudget {
  readonly handle: BudgetHandle;

  constructor({ cacheBytes, writeBufferBytes }: StoreBudgetSizes = ALONE) {
    this.handle = storeBinding().newBudget(cacheBytes, writeBufferBytes);
  }

  /** What is in use at the moment, by what it is for. */
  memory(): StoreBudgetSizes {
    return storeBinding().budgetMemory(this.handle);
  }
}
