import { QuiverError } from '../../shared/errors/quiver-error';
import type { WriteRequest__Output } from '../../shared/rpc/generated/quiver/v1/writes';

/** A write whose payload comes in parts, being put together. */
export class WriteParts {
  private readonly payload: Buffer;
  private filledBytes = 0;

  /** Errors: as `add`. */
  constructor(readonly request: WriteRequest__Output) {
    this.payload = Buffer.allocUnsafeSlow(request.payloadBytes);
    this.add(request.payload);
  }

  /** Takes the next part; the parts are copied, so that the whole begins at an aligned address. Errors: internal when it is more than was announced. */
  add(part: Buffer): void {
    if (this.filledBytes + part.length > this.payload.length) throw new QuiverError('internal', 'a write longer than announced');
    part.copy(this.payload, this.filledBytes);
    this.filledBytes += part.length;
  }

  /** The payload when all of it is there. */
  get whole(): Buffer | null {
    return this.filledBytes === this.payload.length ? this.payload : null;
  }
}
