import { onlyOnce, WaitingLine } from './waiting-line';

/** Bounds the memory of the writes that documents become: of a few bytes of a file, it may be a whole one. */
export class WriteMemory {
  private taken = 0;
  private readonly line = new WaitingLine<number>((bytes) => {
    if (this.taken > 0 && this.taken + bytes > this.bytesMax) return false;
    this.taken += bytes;
    return true;
  });

  constructor(private readonly bytesMax: number) {}

  /** Waits until there is memory; one alone always has some. Answers what gives it back. Rejects once it is stopped. */
  async take(bytes: number, stop: AbortSignal): Promise<() => void> {
    await this.line.wait(bytes, stop);
    return onlyOnce(() => {
      this.taken -= bytes;
      this.line.admit();
    });
  }
}
