/** The present load of the API, and how much it has refused: the gate counts, metrics read. */
export class HttpLoad {
  /** Requests being worked on. */
  requests = 0;
  /** Bytes that answers hold, from when they are read until they are taken. */
  answerBytes = (): number => 0;
  private ownBytes = 0;
  /** Requests refused because the process was busy, since it started. */
  refused = 0;

  /** `shared`: where each thread of the process shows the bytes that it holds, and the place of this one. */
  constructor(private readonly shared: { bytes: Float64Array; place: number } | null = null) {}

  /** Bytes of the bodies of these requests. */
  get bodyBytes(): number {
    return this.ownBytes;
  }

  set bodyBytes(bytes: number) {
    this.ownBytes = bytes;
    if (this.shared !== null) this.shared.bytes[this.shared.place] = bytes;
  }

  /** The same of all threads. */
  get allBodyBytes(): number {
    return this.shared === null ? this.ownBytes : this.shared.bytes.reduce((sum, bytes) => sum + bytes, 0);
  }
}
