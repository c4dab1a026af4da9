import type { Clock } from '../../../shared/base/time/clock';
import type { HttpLoad } from '../load/http-load';
import type { AnsweredRequest, RequestObserver } from '../http/observer';
import { type AuditRule, isAudited } from '../metrics/audited-request';
import { isLogged, type RequestLogRule } from '../metrics/request-reporter';
import { SEARCH_PHASES, type SearchObserver, type SearchPhase } from '../../service/search/search-observer';

/** Metrics and usage are at most this old; whoever reads them asks for the rest first. */
const SEND_MS = 250;
/** Numbers after which a report does not wait: some hundred requests. */
const SEND_LENGTH = 4_096;

/** The kinds of facts in a report, and how many numbers follow. */
const REQUEST = 1;
const PHASE = 2;
const USE = 3;
const REPETITION = 4;

/** What waits for storage nodes: calls without an answer, and bytes of calls that are not sent yet. */
export interface NodeCalls {
  open: number;
  queuedBytes: number;
}

/** What an HTTP thread does at present, and how much it has refused. */
export type HttpThreadLoad = Pick<HttpLoad, 'requests' | 'bodyBytes' | 'refused'> & {
  answerBytes: number;
  nodeCalls: number;
  nodeBytes: number;
};

/** What an HTTP thread has counted since its last report. */
export interface HttpThreadReport {
  /** Names that are used for the first time; `facts` mean them by their index among all names of the thread. */
  names: string[];
  /**
   * float64, in this order and without limits between them: [REQUEST, endpoint's name, code, duration in ms],
   * [PHASE, index of the phase, duration in ms], [USE, id of the key, endpoint's name, wall time in ms], [REPETITION].
   */
  facts: Float64Array;
  load: HttpThreadLoad;
}

/** Where reports go on the main thread. */
export interface ReportReader {
  request(endpoint: string, code: number, durationMs: number): void;
  phase(phase: SearchPhase, durationMs: number): void;
  use(keyId: number, endpoint: string, wallMs: number): void;
  repetition(): void;
}

/**
 * Counts on an HTTP thread what the main thread's metrics and usage are made of, as numbers that are sent together.
 * A request that gets a line in the log or the audit log is told at once and whole.
 */
export class HttpThreadReports implements RequestObserver, SearchObserver {
  private readonly indexes = new Map<string, number>();
  private names: string[] = [];
  private facts: number[] = [];
  private sentLoad = '';
  private readonly rule: RequestLogRule & AuditRule;
  private readonly clock: Clock;
  private readonly load: HttpLoad;
  private readonly nodeCalls: () => NodeCalls;
  private readonly send: (report: HttpThreadReport) => void;
  private readonly notable: (facts: AnsweredRequest) => void;
  private readonly timer: NodeJS.Timeout;

  constructor(parts: {
    rule: RequestLogRule & AuditRule;
    clock: Clock;
    load: HttpLoad;
    nodeCalls: () => NodeCalls;
    send: (report: HttpThreadReport) => void;
    notable: (facts: AnsweredRequest) => void;
  }) {
    this.rule = parts.rule;
    this.clock = parts.clock;
    this.load = parts.load;
    this.nodeCalls = parts.nodeCalls;
    this.send = parts.send;
    this.notable = parts.notable;
    this.timer = setInterval(() => this.flush(), SEND_MS);
  }

  requestAnswered(facts: AnsweredRequest): void {
    const { endpoint, code, durationMs, steps } = facts;
    if (isLogged(this.rule, facts) || isAudited(this.rule, facts)) {
      this.notable(facts);
      return;
    }
    this.facts.push(REQUEST, this.indexOf(endpoint), code, durationMs);
    if (facts.isReplayed === true) this.facts.push(REPETITION);
    if (steps !== null) {
      this.phase('parse', steps.parseMs);
      this.phase('serialise', steps.serialiseMs);
    }
    if (this.facts.length > SEND_LENGTH) this.flush();
  }

  phase(phase: SearchPhase, durationMs: number): void {
    this.facts.push(PHASE, SEARCH_PHASES.indexOf(phase), durationMs);
  }

  /** Counts a request of a key. */
  record(keyId: number, endpoint: string): void {
    this.facts.push(USE, keyId, this.indexOf(endpoint), this.clock.wallMs());
  }

  /** Sends what has been counted. */
  flush(): void {
    const { requests, bodyBytes, refused } = this.load;
    const answerBytes = this.load.answerBytes();
    const { open, queuedBytes } = this.nodeCalls();
    const load = `${requests} ${bodyBytes} ${answerBytes} ${refused} ${open} ${queuedBytes}`;
    if (this.facts.length === 0 && load === this.sentLoad) return;
    this.sentLoad = load;
    this.send({
      names: this.names,
      facts: Float64Array.from(this.facts),
      load: { requests, bodyBytes, answerBytes, refused, nodeCalls: open, nodeBytes: queuedBytes },
    });
    this.names = [];
    this.facts = [];
  }

  close(): void {
    clearInterval(this.timer);
    this.flush();
  }

  private indexOf(name: string): number {
    let index = this.indexes.get(name);
    if (index === undefined) {
      index = this.indexes.size;
      this.indexes.set(name, index);
      this.names.push(name);
    }
    return index;
  }
}

/** Reads the reports of one HTTP thread, in their order. */
export class HttpThreadReportReader {
  private readonly names: string[] = [];

  constructor(private readonly reader: ReportReader) {}

  read({ names, facts }: HttpThreadReport): void {
    this.names.push(...names);
    for (let at = 0; at < facts.length;) {
      switch (facts[at]) {
        case REQUEST:
          this.reader.request(this.names[facts[at + 1]], facts[at + 2], facts[at + 3]);
          at += 4;
          break;
        case PHASE:
          this.reader.phase(SEARCH_PHASES[facts[at + 1]], facts[at + 2]);
          at += 3;
          break;
        case USE:
          this.reader.use(facts[at + 1], this.names[facts[at + 2]], facts[at + 3]);
          at += 4;
          break;
        case REPETITION:
          this.reader.repetition();
          at += 1;
          break;
        default:
          throw new Error(`a report with an unknown kind of fact, ${facts[at]}`);
      }
    }
  }
}
