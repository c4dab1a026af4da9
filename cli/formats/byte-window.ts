/** What is read again is given out in small pieces: who soon wants to begin once more has not been given much. */
const AGAIN_BYTES = 16_384;

/** Bytes that come in pieces, of which those from a place on are kept, so that they can be read again. */
export class ByteWindow {
  private pieces: Buffer[] = [];
  private readonly source: AsyncIterator<Buffer>;

  constructor(
    source: AsyncIterable<Buffer>,
    /** Where the window begins: the place of its first byte in the whole. */
    private start: number,
  ) {
    this.source = source[Symbol.asyncIterator]();
  }

  /** From a place in the window on: first what is kept, then what comes. One at a time. */
  async *from(place: number): AsyncGenerator<Buffer> {
    this.forget(place);
    let at = this.start;
    for (const piece of [...this.pieces]) {
      for (let i = Math.max(0, place - at); i < piece.length; i += AGAIN_BYTES) yield piece.subarray(i, i + AGAIN_BYTES);
      at += piece.length;
    }
    for (;;) {
      const { value, done } = await this.source.next();
      if (done) return;
      this.pieces.push(value);
      yield value;
    }
  }

  /** What lies before a place is not needed any more. */
  forget(place: number): void {
    let gone = 0;
    while (gone < this.pieces.length && this.start + this.pieces[gone].length <= place) this.start += this.pieces[gone++].length;
    if (gone > 0) this.pieces.splice(0, gone);
  }

  /** The bytes between two places in the window. */
  slice(from: number, to: number): Buffer {
    let at = this.start;
    const parts = this.pieces.map((piece) => {
      const part = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
      at += piece.length;
      return part;
    });
    return Buffer.concat(parts);
  }

  /** Where what has come until now ends. */
  get end(): number {
    return this.pieces.reduce((at, { length }) => at + length, this.start);
  }

  async close(): Promise<void> {
    await this.source.return?.();
  }
}
