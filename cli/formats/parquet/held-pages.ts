import { getHeapStatistics } from 'node:v8';
import { CommandError } from '../../command-error';
import { PIECE_BYTES_MAX } from '../record-source';

/**
 * What the columns of a row group hold at a time, each within bounds of its own: a page and a dictionary, or all of a
 * nested column. Together they have a bound, too, since a file may have any number of columns.
 */
export class HeldPages {
  private readonly held = new Map<object, number>();
  private sum = 0;

  /**
   * `name`: the file's, for messages. `bytesMax`: of all together; default: a quarter of the heap, at least as much as
   * a page may have.
   */
  constructor(
    private readonly name: string,
    private readonly bytesMax = Math.max(PIECE_BYTES_MAX, Math.floor(getHeapStatistics().heap_size_limit / 4)),
  ) {}

  /**
   * `owner` is about to hold so many bytes in the place of what it held. Throws a CommandError where all hold too much;
   * one that is alone has its own bound.
   */
  hold(owner: object, bytes: number): void {
    this.sum += bytes - (this.held.get(owner) ?? 0);
    this.held.set(owner, bytes);
    if (this.sum <= this.bytesMax || this.sum === bytes) return;
    const most = Math.floor(this.bytesMax / (1 << 20));
    throw new CommandError(
      `${this.name} has pages of more than ${most} MiB side by side in its columns: read fewer with --metadata, give Node more memory (NODE_OPTIONS=--max-old-space-size), or write smaller pages or row groups`,
    );
  }
}
