import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { MemoryTarget } from './memory-target';

/** A target in memory that fails now and then, before or after it did what it was asked for. */
export class UnsteadyTarget extends MemoryTarget {
  failing = 0;

  constructor(private readonly random: () => number) {
    super();
  }

  override async put(key: string, bytes: Buffer): Promise<void> {
    const dice = this.random();
    if (dice < this.failing / 2) throw new QuiverError('unavailable', 'the target fails');
    await new Promise((wake) => setImmediate(wake));
    await super.put(key, bytes);
    if (dice < this.failing) throw new QuiverError('unavailable', 'the target fails to answer');
  }

  override async get(key: string): Promise<Buffer | null> {
    if (this.random() < this.failing / 2) throw new QuiverError('unavailable', 'the target fails');
    return super.get(key);
  }
}
