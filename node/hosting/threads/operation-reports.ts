import { NODE_OPERATIONS, type NodeOperation, type OperationObserver } from '../services/operation-observer';

/** Metrics are at most this old; whoever reads them asks for the rest first. */
const SEND_MS = 250;
/** Numbers after which a report does not wait: some hundred calls. */
const SEND_LENGTH = 4_096;

/** The kinds of facts in a report, and how many numbers follow. */
const OPERATION = 1;
const SEARCHES = 2;

/**
 * What a thread has counted since its last report, as float64 in this order and without limits between them:
 * [OPERATION, index of the operation, duration in ms, 1 if it failed], [SEARCHES, how many were answered by the permit
 * of a primary, of a follower, and how many the main thread was asked for].
 */
export type OperationReport = Float64Array;

/** Searches on a thread, by who answered them. */
export interface SearchCounts {
  primary: number;
  follower: number;
  passedOn: number;
}

/** Counts the calls on a thread of a node, as numbers that are sent to the main thread together. */
export class OperationReports implements OperationObserver {
  private facts: number[] = [];
  private searches = { primary: 0, follower: 0, passedOn: 0 };
  /** Only while there is something to send: a thread that has nothing to do sleeps. */
  private timer: NodeJS.Timeout | null = null;
  private isClosed = false;

  constructor(private readonly send: (report: OperationReport) => void) {}

  done(operation: NodeOperation, durationMs: number, outcome: 'answered' | 'failed'): void {
    this.facts.push(OPERATION, NODE_OPERATIONS.indexOf(operation), durationMs, outcome === 'failed' ? 1 : 0);
    if (this.facts.length > SEND_LENGTH) this.flush();
    else this.flushSoon();
  }

  /** A search was answered by a permit of this kind, or passed on to the main thread. */
  searched(by: keyof SearchCounts): void {
    this.searches[by] += 1;
    this.flushSoon();
  }

  /** Sends what has been counted. */
  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { primary, follower, passedOn } = this.searches;
    if (primary + follower + passedOn > 0) {
      this.facts.push(SEARCHES, primary, follower, passedOn);
      this.searches = { primary: 0, follower: 0, passedOn: 0 };
    }
    if (this.facts.length === 0) return;
    this.send(Float64Array.from(this.facts));
    this.facts = [];
  }

  close(): void {
    this.flush();
    this.isClosed = true;
  }

  private flushSoon(): void {
    if (!this.isClosed) this.timer ??= setTimeout(() => this.flush(), SEND_MS);
  }
}

/** Adds a thread's report to what the node counts. */
export function readReport(
  facts: OperationReport,
  to: { observer: OperationObserver; onSearches: (counts: SearchCounts) => void },
): void {
  for (let at = 0; at < facts.length;) {
    switch (facts[at]) {
      case OPERATION:
        to.observer.done(NODE_OPERATIONS[facts[at + 1]], facts[at + 2], facts[at + 3] === 1 ? 'failed' : 'answered');
        at += 4;
        break;
      case SEARCHES:
        to.onSearches({ primary: facts[at + 1], follower: facts[at + 2], passedOn: facts[at + 3] });
        at += 4;
        break;
      default:
        throw new Error(`a report with an unknown kind of fact, ${facts[at]}`);
    }
  }
}
