import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** Reads what VarintWriter wrote. Errors: QuiverError `storage_failed` for reading past the end, and from `refuse`. */
export class VarintReader {
  private position = 0;

  constructor(private readonly bytes: Buffer) {}

  varint(): number {
    const { bytes } = this;
    let byte = this.byte();
    if (byte < 128) return byte;
    let value = byte & 127;
    let factor = 128;
    do {
      if (this.position >= bytes.length || factor > 2 ** 49) this.refuse('a broken number');
      byte = bytes[this.position++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return value;
  }

  /** A varint of at most `maximum`. */
  bounded(maximum: number, what: string): number {
    const value = this.varint();
    if (value > maximum) this.refuse(what);
    return value;
  }

  text(): string {
    const length = this.bounded(this.remaining, 'a text beyond the end');
    const text = this.bytes.toString('utf8', this.position, this.position + length);
    this.position += length;
    return text;
  }

  get remaining(): number {
    return this.bytes.length - this.position;
  }

  refuse(what: string): never {
    throw new QuiverError('storage_failed', `The saved keyword index is damaged: ${what}`, {
      details: { position: this.position },
    });
  }

  private byte(): number {
    if (this.position >= this.bytes.length) this.refuse('it ends too early');
    return this.bytes[this.position++];
  }
}
