import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import type { RejectedRow } from './watermark';

/**
 * Rows that were not stored, one JSON object a line: place, external_id where it is known, and the reason. It is opened
 * with the first of them. `bytes` goes into the checkpoint, and a run that goes on cuts the file there: rows that are
 * read again are not listed twice.
 */
export class RejectFile {
  private file: number | null = null;

  constructor(
    readonly path: string,
    public bytes = 0,
  ) {
    // What an earlier import left, or listed of rows that this one reads again. A device, such as /dev/null, stays.
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (!status?.isFile()) return;
    if (bytes === 0) rmSync(path);
    else if (status.size > bytes) truncateSync(path, bytes);
  }

  append(rows: RejectedRow[]): void {
    if (rows.length === 0) return;
    if (this.file === null) {
      this.file = openSync(this.path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      const status = fstatSync(this.file);
      if (status.isFile()) {
        // The run before may have had another working folder, or the file was moved away: nothing is in the place of
        // its rows.
        this.bytes = Math.min(this.bytes, status.size);
        ftruncateSync(this.file, this.bytes);
      }
    }
    const text = Buffer.from(
      rows
        .map(({ place, externalId, reason }) => `${JSON.stringify({ place, external_id: externalId, reason })}\n`)
        .join(''),
    );
    for (let at = 0; at < text.length;) at += writeSync(this.file, text, at, text.length - at, this.bytes + at);
    this.bytes += text.length;
  }

  close(): void {
    if (this.file !== null) closeSync(this.file);
    this.file = null;
  }
}
