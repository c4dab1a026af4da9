import { type BudgetHandle, storeBinding } from './store-binding';

export interface StoreBudgetSizes {
  /** For blocks of files that are cached for the next read. */
  cacheBytes: number;
  /** For writes that are in a log but not yet in a file. A store that would exceed it writes a file. */
  writeBufferBytes: number;
}

/** The budget of a single store in a test or a tool. */
const ALONE: StoreBudgetSizes = { cacheBytes: 32 * 1024 * 1024, writeBufferBytes: 64 * 1024 * 1024 };

/** Memory that all stores of a process share, so that many of them cost no more than one. */
export class StoreBudget {
  readonly handle: BudgetHandle;

  constructor({ cacheBytes, writeBufferBytes }: StoreBudgetSizes = ALONE) {
    this.handle = storeBinding().newBudget(cacheBytes, writeBufferBytes);
  }

  /** What is in use now, by purpose. */
  memory(): StoreBudgetSizes {
    return storeBinding().budgetMemory(this.handle);
  }
}
