import type { EmbedOptions } from '../embedding-provider';

/** Texts that wait for the same: each lane comes before those behind it. */
const LANES = ['query', 'passage', 'job'] as const;
export type TextLane = (typeof LANES)[number];

/** Where texts wait. */
export function laneOf({ kind, isOfJob }: Pick<EmbedOptions, 'kind' | 'isOfJob'>): TextLane {
  return isOfJob === true ? 'job' : kind;
}

/** A text that waits. */
export interface WaitingText<Call> {
  text: string;
  call: Call;
  /** Its position in the call. */
  index: number;
}

/** Bounds of one batch. Where texts are padded, all of a batch take as long as the longest. */
export interface BatchBounds {
  textsMax: number;
  /** Length of the longest text × number of texts, in characters; where nothing is padded, that of all. */
  charactersMax: number;
  isPadded: boolean;
}

/** Texts considered for a batch: those that have waited longest. */
const WINDOW = 256;
/**
 * By how much lengths in a batch may differ: this share of the oldest text's length, plus one word. More would be
 * padding.
 */
const LENGTH_SPREAD = 0.25;
const LENGTH_SLACK = 8;
/**
 * Queries come first, because somebody waits for the answer, and then what clients write. But every fourth turn goes to
 * those behind, so that a flood of queries does not starve writers, and both no jobs.
 */
const TURNS = 3;
/** After a query, so many turns of jobs are of one text: the next query may come soon, and waits for what runs. */
const SINGLE_TURNS = 32;
const SINGLE = { textsMax: 1, charactersMax: Infinity, isPadded: true };

/**
 * Texts that wait to be embedded: queries, passages, and those of jobs. It decides what runs next; bounding it is the
 * caller's task.
 */
export class TextQueue<Call> {
  private readonly lanes = { query: new Lane<Call>(), passage: new Lane<Call>(), job: new Lane<Call>() };
  /** Turns that a lane had since those behind it had one. */
  private readonly turns = { query: 0, passage: 0, job: 0 };
  /** Turns of others since a job had one. */
  private passedOver = 0;
  /** Turns of jobs that are of one text. */
  private singleTurns = 0;

  /** `jobsYield`: whether jobs take less at once while there are queries. */
  constructor(private readonly options: { jobsYield?: boolean | undefined } = {}) {}

  /** Number of texts that wait. */
  waiting(lane: TextLane): number {
    return this.lanes[lane].size;
  }

  add(lane: TextLane, texts: WaitingText<Call>[]): void {
    this.lanes[lane].add(texts);
  }

  /** Drops the waiting texts of a call. */
  drop(call: Call): void {
    for (const lane of Object.values(this.lanes)) lane.drop(call);
  }

  /**
   * The next texts to run together, including the oldest of its lane; null when none wait. `isAhead`: they would only
   * wait for what runs, and nothing of a job does that in the way of queries, unless others had their turns since.
   */
  take(bounds: BatchBounds, isAhead = false): WaitingText<Call>[] | null {
    const isSingle = this.singleTurns > 0;
    const waiting = LANES.filter((lane) => this.lanes[lane].size > 0);
    // Somebody else may always run, or wait: that must not be the reason for ever.
    if (waiting[0] === 'job' && isSingle && isAhead && this.passedOver < TURNS) return null;
    for (const lane of waiting) {
      const isLast = lane === waiting.at(-1);
      const isItsTurn = isLast || this.turns[lane] < TURNS;
      this.turns[lane] = isLast || !isItsTurn ? 0 : this.turns[lane] + 1;
      if (!isItsTurn) continue;
      if (lane === 'query' && this.options.jobsYield === true) this.singleTurns = SINGLE_TURNS;
      if (lane === 'job') this.singleTurns = Math.max(0, this.singleTurns - 1);
      this.passedOver = lane === 'job' || waiting.at(-1) !== 'job' ? 0 : this.passedOver + 1;
      return this.lanes[lane].take(lane === 'job' && isSingle ? SINGLE : bounds);
    }
    return null;
  }
}

/** First in, first out, except that texts of similar length may run together with an older one. */
class Lane<Call> {
  private window: WaitingText<Call>[] = [];
  private rest: WaitingText<Call>[] = [];
  private next = 0;

  get size(): number {
    return this.window.length + this.rest.length - this.next;
  }

  add(texts: WaitingText<Call>[]): void {
    for (const text of texts) this.rest.push(text);
  }

  drop(call: Call): void {
    this.window = this.window.filter((waiting) => waiting.call !== call);
    this.rest = this.rest.slice(this.next).filter((waiting) => waiting.call !== call);
    this.next = 0;
  }

  take({ textsMax, charactersMax, isPadded }: BatchBounds): WaitingText<Call>[] {
    this.fill(Math.max(WINDOW, isPadded ? 0 : textsMax));
    const oldest = this.window[0];
    if (textsMax === 1) return this.window.splice(0, 1);
    if (!isPadded) return this.window.splice(0, this.fitting(textsMax, charactersMax));
    const spread = oldest.text.length * LENGTH_SPREAD + LENGTH_SLACK;
    const distance = ({ text }: WaitingText<Call>): number => Math.abs(text.length - oldest.text.length);
    const near = this.window.filter((waiting) => distance(waiting) <= spread).sort((a, b) => distance(a) - distance(b));
    let longest = 0;
    const chosen = new Set<WaitingText<Call>>();
    for (const waiting of near) {
      longest = Math.max(longest, waiting.text.length);
      if (chosen.size > 0 && (chosen.size === textsMax || longest * (chosen.size + 1) > charactersMax)) break;
      chosen.add(waiting);
    }
    this.window = this.window.filter((waiting) => !chosen.has(waiting));
    return [...chosen];
  }

  /** How many of those that have waited longest, at least one. */
  private fitting(textsMax: number, charactersMax: number): number {
    let count = 1;
    let characters = this.window[0].text.length;
    while (count < Math.min(textsMax, this.window.length)) {
      characters += this.window[count].text.length;
      if (characters > charactersMax) break;
      count += 1;
    }
    return count;
  }

  private fill(size: number): void {
    while (this.window.length < size && this.next < this.rest.length) this.window.push(this.rest[this.next++]);
    if (this.next < this.rest.length && this.next < WINDOW * 16) return;
    this.rest = this.rest.slice(this.next);
    this.next = 0;
  }
}
