import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * Something was written by a later version of the program, in a form that this one can't read. It is not damage:
 * nothing may be changed or removed, and the later version reads it.
 */
export class LaterFormatError extends QuiverError {
  /** `what`: names the file or thing. `reason`: its format, and the newest that this program knows. */
  constructor(what: string, reason: string) {
    super(
      'storage_failed',
      `${what} was written by a later version: ${reason}; nothing was changed, a later version of the program reads it`,
    );
    this.name = 'LaterFormatError';
  }
}

/** Errors: LaterFormatError if `format` is above `newest`, the newest that this program knows. */
export function mustBeKnownFormat(what: string, format: number, newest: number): void {
  if (format > newest)
    throw new LaterFormatError(what, `it has format ${format}, and this program knows formats up to ${newest}`);
}
