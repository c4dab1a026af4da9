import type { EmbeddingKind } from '../embedding-provider';

/** A text that waits. */
export interface WaitingText<Call> {
  text: string;
  call: Call;
  /** Its place in the call. */
  index: number;
}

/** Bounds of what runs at once; padding brings all texts of a batch to the length of the longest. */
export interface BatchBounds {
  textsMax: number;
  /** Longest text × texts, in characters. */
  charactersMax: number;
}

/** Texts considered for a batch: those that waited longest. */
const WINDOW = 256;
/** Lengths may differ by this share of the oldest text's, and a word: more would be padding. */
const LENGTH_SPREAD = 0.25;
const LENGTH_SLACK = 8;
/** Someone waits for a query's answer; still every fourth turn is a passage's, so that a flood of queries starves no writer. */
const QUERY_TURNS = 3;

/** Texts that wait to be embedded, queries and passages apart. Decides what runs next; holds no more than it is told to. */
export class TextQueue<Call> {
  private readonly lanes = { query: new Lane<Call>(), passage: new Lane<Call>() };
  private queryTurns = 0;

  /** Texts that wait. */
  waiting(kind: EmbeddingKind): number {
    return this.lanes[kind].size;
  }

  add(kind: EmbeddingKind, texts: WaitingText<Call>[]): void {
    this.lanes[kind].add(texts);
  }

  /** Forgets what a call has waiting. */
  drop(call: Call): void {
    for (const lane of Object.values(this.lanes)) lane.drop(call);
  }

  /** The next texts to run together, the oldest of its kind among them; null when none wait. */
  take(bounds: BatchBounds): WaitingText<Call>[] | null {
    const { query, passage } = this.lanes;
    if (query.size === 0 && passage.size === 0) return null;
    const isQueryTurn = query.size > 0 && (passage.size === 0 || this.queryTurns < QUERY_TURNS);
    this.queryTurns = isQueryTurn && passage.size > 0 ? this.queryTurns + 1 : 0;
    return (isQueryTurn ? query : passage).take(bounds);
  }
}

/** First in, first out, but for texts of a like length that go along with an older one. */
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

  take({ textsMax, charactersMax }: BatchBounds): WaitingText<Call>[] {
    this.fill();
    const oldest = this.window[0];
    if (textsMax === 1) return this.window.splice(0, 1);
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

  private fill(): void {
    while (this.window.length < WINDOW && this.next < this.rest.length) this.window.push(this.rest[this.next++]);
    if (this.next < this.rest.length && this.next < WINDOW * 16) return;
    this.rest = this.rest.slice(this.next);
    this.next = 0;
  }
}
