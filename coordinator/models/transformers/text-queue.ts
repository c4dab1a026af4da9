import type { EmbeddingKind } from '../embedding-provider';

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
 * Queries come first, because somebody waits for the answer. But every fourth turn goes to passages, so that a flood of
 * queries does not starve writers.
 */
const QUERY_TURNS = 3;

/**
 * Texts that wait to be embedded, queries and passages apart. It decides what runs next; bounding it is the caller's
 * task.
 */
export class TextQueue<Call> {
  private readonly lanes = { query: new Lane<Call>(), passage: new Lane<Call>() };
  private queryTurns = 0;

  /** Number of texts that wait. */
  waiting(kind: EmbeddingKind): number {
    return this.lanes[kind].size;
  }

  add(kind: EmbeddingKind, texts: WaitingText<Call>[]): void {
    this.lanes[kind].add(texts);
  }

  /** Drops the waiting texts of a call. */
  drop(call: Call): void {
    for (const lane of Object.values(this.lanes)) lane.drop(call);
  }

  /** The next texts to run together, including the oldest of its kind; null when none wait. */
  take(bounds: BatchBounds): WaitingText<Call>[] | null {
    const { query, passage } = this.lanes;
    if (query.size === 0 && passage.size === 0) return null;
    const isQueryTurn = query.size > 0 && (passage.size === 0 || this.queryTurns < QUERY_TURNS);
    this.queryTurns = isQueryTurn && passage.size > 0 ? this.queryTurns + 1 : 0;
    return (isQueryTurn ? query : passage).take(bounds);
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
