import { QuiverError } from '../../shared/errors/quiver-error';
import { HttpLoad } from './http-load';

/** Bounds past which requests are refused instead of taken on. */
export interface OverloadBounds {
  /** Bytes of request bodies being read or worked on. */
  bodyBytesMax: number;
  /** A body of this size passes whatever the others hold: large ones that are announced and never sent must keep no search out. */
  smallBodyBytes: number;
  /** Requests being worked on. */
  requestsMax: number;
  /** How late the event loop may run. */
  delayMsMax: number;
}

/** What one admitted request holds; given back exactly once by `release`. */
export interface Admission {
  /** Accounts for bytes beyond those announced. Errors: overloaded. */
  grow(bytes: number): void;
  release(): void;
}

/** Refuses work before it costs memory that isn't there: a client that is told "busy" can come back, a dead process can't. */
export class OverloadGate {
  private readonly bounds: OverloadBounds;
  private readonly delayMs: () => number;
  private readonly load: HttpLoad;

  /** `load` is where it counts; its own unless somebody else wants to see it. */
  constructor(options: { bounds: OverloadBounds; delayMs: () => number; load?: HttpLoad }) {
    this.bounds = options.bounds;
    this.delayMs = options.delayMs;
    this.load = options.load ?? new HttpLoad();
  }

  /** Takes on a request with `announcedBytes` of body (0 when not known). Errors: overloaded. */
  enter(announcedBytes: number): Admission {
    if (this.load.requests >= this.bounds.requestsMax || this.delayMs() > this.bounds.delayMsMax) throw this.busy();
    this.take(announcedBytes, announcedBytes);
    this.load.requests++;
    let held = announcedBytes;
    let arrived = 0;
    let released = false;
    return {
      grow: (bytes) => {
        arrived += bytes;
        if (arrived <= held) return;
        this.take(arrived - held, arrived);
        held = arrived;
      },
      release: () => {
        if (released) return;
        released = true;
        this.load.requests--;
        this.load.bodyBytes -= held;
      },
    };
  }

  /** Counts `bytes` more of a body that is then `size` bytes long. */
  private take(bytes: number, size: number): void {
    // A body that is alone always passes, however small the bound: its own size is limited elsewhere.
    if (size > this.bounds.smallBodyBytes && this.load.bodyBytes > 0 && this.load.bodyBytes + bytes > this.bounds.bodyBytesMax) throw this.busy();
    this.load.bodyBytes += bytes;
  }

  private busy(): QuiverError {
    this.load.refused++;
    return new QuiverError('overloaded', 'server busy: try again in a moment');
  }
}
