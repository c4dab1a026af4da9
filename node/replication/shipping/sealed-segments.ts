import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { isSealedSegment, type LogSegment, SEGMENT_BYTES_MAX } from '../../../shared/backup-store/log-format';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * Which segments of a log this service has sealed. A segment's name says which entries it has, and of when: the numbers
 * of a log and the clock of its shard go on behind those, so a name counts only where nobody else can have made it.
 */
export class SealedSegments {
  private readonly known = new Map<string, boolean>();

  constructor(private readonly target: BackupTarget) {}

  /**
   * The first of these that is sealed, of which only those before it are read; null: none is. Errors: those of the
   * target.
   */
  async first(segments: readonly LogSegment[]): Promise<LogSegment | null> {
    for (const segment of segments) {
      let isSealed = this.known.get(segment.key);
      if (isSealed === undefined) this.known.set(segment.key, (isSealed = await this.isSealed(segment)));
      if (isSealed) return segment;
    }
    return null;
  }

  /** What is there may be another one later. */
  forget(): void {
    this.known.clear();
  }

  private async isSealed({ key }: LogSegment): Promise<boolean> {
    try {
      const bytes = await this.target.get(key, SEGMENT_BYTES_MAX);
      return bytes !== null && isSealedSegment(key, bytes, this.target.seals);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'storage_damaged') return false;
      throw error;
    }
  }
}
