import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { HttpLoad } from './http-load';

/** Bounds beyond which requests are refused. */
export interface OverloadBounds {
  /** Bytes of request bodies being read or worked on. */
  bodyBytesMax: number;
  /**
   * A body up to this size is always accepted, whatever the others hold: large bodies that are announced but never sent
   * must not block searches.
   */
  smallBodyBytes: number;
  /** Requests being worked on. */
  requestsMax: number;
  /** How late the event loop may run. */
  delayMsMax: number;
}

/** What one admitted request holds; `release` gives it back exactly once. */
export interface Admission {
  /** Counts bytes beyond those announced. Errors: overloaded. */
  grow(bytes: number): void;
  release(): void;
}

/**
 * Refuses work before it takes memory that isn't there: a client that gets "busy" can come back, but a crashed process
 * serves nobody.
 */
export class OverloadGate {
  private readonly bounds: OverloadBounds;
  private readonly delayMs: () => number;
  private readonly load: HttpLoad;

  /** `load` is where it counts; by default, an object of its own. */
  constructor(options: { bounds: OverloadBounds; delayMs: () => number; load?: HttpLoad }) {
    this.bounds = options.bounds;
    this.delayMs = options.delayMs;
    this.load = options.load ?? new HttpLoad();
  }

  /** Admits a request with `announcedBytes` of body (0 if unknown). Errors: overloaded. */
  enter(announcedBytes: number): Admission {
    if (this.load.requests >= this.bounds.requestsMax || this.delayMs() > this.bounds.delayMsMax) throw this.busy();
    this.take(announcedBytes, announcedBytes);
    this.load.requests++;
    return new Admitted(announcedBytes, this.load, this.taken);
  }

  private readonly taken = (bytes: number, size: number): void => this.take(bytes, size);

  /** Counts `bytes` more of a body that is then `size` bytes long. */
  private take(bytes: number, size: number): void {
    // A single body always passes, however small the bound: its own size is limited elsewhere.
    if (
      size > this.bounds.smallBodyBytes &&
      this.load.allBodyBytes > 0 &&
      this.load.allBodyBytes + bytes > this.bounds.bodyBytesMax
    )
      throw this.busy();
    this.load.bodyBytes += bytes;
  }

  private busy(): QuiverError {
    return this.refused(new QuiverError('overloaded', 'server busy: try again in a moment'));
  }

  /** Counts a request that is refused because of something else that there is too much of. */
  refused(error: QuiverError): QuiverError {
    this.load.refused++;
    return error;
  }
}

class Admitted implements Admission {
  private arrived = 0;
  private isReleased = false;

  constructor(
    private held: number,
    private readonly load: HttpLoad,
    private readonly take: (bytes: number, size: number) => void,
  ) {}

  grow(bytes: number): void {
    this.arrived += bytes;
    if (this.arrived <= this.held) return;
    this.take(this.arrived - this.held, this.arrived);
    this.held = this.arrived;
  }

  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.load.requests--;
    this.load.bodyBytes -= this.held;
  }
}
