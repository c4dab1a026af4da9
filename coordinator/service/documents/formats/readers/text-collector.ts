import { HEADINGS_MAX, TITLE_LENGTH_MAX, tooMany, tooMuchText } from '../parser-limits';
import type { DocumentHeading } from '../parsed-document';

const SPACES = /[ \t\r\n\f]+/g;

/** Ends of lines between two parts of a text. */
export type Break = 0 | 1 | 2;

/**
 * Gathers the text of a document whose white space means nothing but where it says so: paragraphs and lines begin where
 * they are asked for, spaces are joined. Errors: limit_exceeded once there is more than the limit.
 */
export class TextCollector {
  readonly headings: DocumentHeading[] = [];
  private readonly parts: string[] = [];
  private length = 0;
  /** What stands between the text so far and what comes. */
  private pending: Break = 0;
  private pendingSpace: '' | ' ' | '\t' = '';
  /** The heading that is being read; its title is what was added since. */
  private heading: { level: number; start: number | null; title: string } | null = null;

  constructor(private readonly charactersMax: number) {}

  get position(): number {
    return this.length;
  }

  /** A line (1) or a paragraph (2) begins with what comes next. */
  break(lines: Break): void {
    if (lines > this.pending) this.pending = lines;
    this.pendingSpace = '';
  }

  /** What comes next is in another column. */
  tab(): void {
    if (this.pending === 0) this.pendingSpace = '\t';
  }

  /** Text as markup has it: runs of white space are one space. */
  add(text: string): void {
    const joined = text.replace(SPACES, ' ');
    const from = joined.startsWith(' ') ? 1 : 0;
    const to = joined.length > from && joined.endsWith(' ') ? joined.length - 1 : joined.length;
    if (from === 1 && this.pendingSpace === '') this.pendingSpace = ' ';
    if (to > from) {
      this.put(joined.slice(from, to));
      if (to < joined.length) this.pendingSpace = ' ';
    }
  }

  /** Text with its own lines and spaces. */
  addAsIs(text: string): void {
    if (text !== '') this.put(text.replace(/\r\n?/g, '\n'));
  }

  beginHeading(level: number): void {
    this.endHeading();
    this.break(2);
    this.heading = { level, start: null, title: '' };
  }

  endHeading(): void {
    const { heading } = this;
    this.heading = null;
    if (heading === null || heading.start === null) return;
    if (this.headings.length === HEADINGS_MAX) throw tooMany('headings', HEADINGS_MAX);
    this.headings.push({ level: heading.level, title: titleOf(heading.title), start: heading.start });
    this.break(2);
  }

  /** All of it; nothing may be added afterwards. */
  end(): string {
    this.endHeading();
    return this.parts.join('').toWellFormed();
  }

  private put(text: string): void {
    const between = this.length === 0 ? '' : this.pending > 0 ? '\n'.repeat(this.pending) : this.pendingSpace;
    this.pending = 0;
    this.pendingSpace = '';
    this.length += between.length + text.length;
    if (this.length > this.charactersMax) throw tooMuchText(this.charactersMax);
    if (between !== '') this.parts.push(between);
    this.parts.push(text);
    const { heading } = this;
    if (heading === null) return;
    heading.start ??= this.length - text.length;
    if (heading.title.length < 2 * TITLE_LENGTH_MAX) heading.title += `${heading.title === '' ? '' : between}${text}`;
  }
}

/** A title in one line, cut at a bound. */
export function titleOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= TITLE_LENGTH_MAX) return line.toWellFormed();
  return line
    .slice(0, TITLE_LENGTH_MAX)
    .replace(/\p{Cs}$/u, '')
    .trimEnd()
    .toWellFormed();
}
