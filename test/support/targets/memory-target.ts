import { TEST_SEALS } from '../cluster/test-seals';
import type { BackupObject, BackupTarget } from '../../../shared/backup-store/backup-target';

/** A target of backups in memory. */
export class MemoryTarget implements BackupTarget {
  readonly name = 'memory';
  seals = TEST_SEALS;
  readonly objects = new Map<string, Buffer>();

  async put(key: string, bytes: Buffer): Promise<void> {
    this.objects.set(key, Buffer.from(bytes));
  }

  async create(key: string, bytes: Buffer): Promise<boolean> {
    if (this.objects.has(key)) return false;
    this.objects.set(key, Buffer.from(bytes));
    return true;
  }

  async get(key: string): Promise<Buffer | null> {
    return this.objects.get(key) ?? null;
  }

  async list(prefix: string, after = ''): Promise<BackupObject[]> {
    return [...this.objects]
      .filter(([key]) => key.startsWith(prefix) && key > after)
      .map(([key, { length: bytes }]) => ({ key, bytes }));
  }

  async delete(key: string): Promise<void> {
    this.objects.delete(key);
  }
}
