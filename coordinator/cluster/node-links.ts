import type { ClusterCredentials, StreamEnd } from '../../shared/rpc/rpc-channel';
import type { Clock } from '../../shared/time/clock';
import { NodeLink } from './node-link';
import { ConnectionLost } from './request-stream';

/** After a failed connection the next is made no sooner: doubling from the first, up to the last. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 500;

/** Addresses that never answered are forgotten after this time: nodes come back under other ones. */
const FORGET_MS = 60_000;

interface Trouble {
  failures: number;
  /** Monotonic. */
  notBeforeMs: number;
  isRefused: boolean;
  reason: string;
}

/** The connections to the nodes, one per address, made when first needed and again when one has ended. */
export class NodeLinks {
  private readonly links = new Map<string, NodeLink>();
  private readonly troubles = new Map<string, Trouble>();
  private isClosed = false;

  constructor(private readonly parts: { credentials: ClusterCredentials; clock: Clock; ended?: (address: string, end: StreamEnd) => void }) {}

  /** The connection to a node, perhaps still being made. Errors: ConnectionLost while a failed one is not to be tried again yet. */
  to(address: string): NodeLink {
    const link = this.links.get(address);
    if (link !== undefined) return link;
    if (this.isClosed) throw new ConnectionLost(false, { isRefused: false, reason: 'closed' });
    const trouble = this.troubles.get(address);
    if (trouble !== undefined && this.parts.clock.monotonicMs() < trouble.notBeforeMs) throw new ConnectionLost(false, trouble);
    return this.connect(address);
  }

  close(): void {
    this.isClosed = true;
    for (const link of [...this.links.values()]) link.close({ isRefused: false, reason: 'closed' });
  }

  private connect(address: string): NodeLink {
    let wasReady = false;
    const link = new NodeLink({
      address,
      credentials: this.parts.credentials,
      clock: this.parts.clock,
      ready: () => {
        wasReady = true;
        this.troubles.delete(address);
      },
      ended: (end) => {
        this.links.delete(address);
        if (!wasReady) this.noteTrouble(address, end);
        if (!this.isClosed) this.parts.ended?.(address, end);
      },
    });
    this.links.set(address, link);
    return link;
  }

  private noteTrouble(address: string, end: StreamEnd): void {
    const nowMs = this.parts.clock.monotonicMs();
    for (const [other, { notBeforeMs }] of this.troubles) {
      if (notBeforeMs + FORGET_MS < nowMs) this.troubles.delete(other);
    }
    const failures = (this.troubles.get(address)?.failures ?? 0) + 1;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LAST_PAUSE_MS);
    this.troubles.set(address, { failures, notBeforeMs: nowMs + pauseMs, ...end });
  }
}
