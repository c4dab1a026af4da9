import { Lexer, type Token, type Tokens } from 'marked';
import { HEADINGS_MAX, tooMany } from '../parser-limits';
import type { DocumentHeading, ParsedDocument } from '../parsed-document';
import { textOfUtf8 } from './decoded-text';
import { titleOf } from './text-collector';

/** YAML between two lines of dashes at the begin, as generators of pages take it. */
const FRONT_MATTER = /^---[ \t]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|$)/;
const FRONT_TITLE = /^title:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\n#]*))/m;
/** A picture within the text: its bytes in letters, which nobody searches. */
const DATA_URL = /data:[\w.+-]+\/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]{64,}/g;

/**
 * Markdown stays as its author wrote it, because tables, lists and code are clearest so, and positions are those of the
 * file; only pictures within the text go. Its headings are those outside of code, quotes and lists. Errors:
 * invalid_parameter; limit_exceeded.
 */
export function readMarkdown(bytes: Buffer, { charactersMax }: { charactersMax: number }): ParsedDocument {
  const source = textOfUtf8(bytes, charactersMax);
  const text = source.includes(';base64,') ? source.replace(DATA_URL, 'data:') : source;
  const front = FRONT_MATTER.exec(text)?.[0] ?? '';
  const headings = headingsOf(text, front.length);
  const said = FRONT_TITLE.exec(front);
  const title = titleOf(said?.[1] ?? said?.[2] ?? said?.[3] ?? '') || headings.find(({ level }) => level === 1)?.title;
  return { type: 'md', text, ...(title !== undefined && { title }), pages: [], headings };
}

function headingsOf(text: string, from: number): DocumentHeading[] {
  const lexer = new Lexer({ gfm: true });
  const headings: DocumentHeading[] = [];
  let at = from;
  // Blocks alone: what stands within paragraphs says nothing of the document's parts.
  for (const token of lexer.blockTokens(text.slice(from))) {
    if (token.type === 'heading') {
      const { depth, text: words } = token as Tokens.Heading;
      const title = titleOf(plain(new Lexer({ gfm: true }).inlineTokens(words)));
      if (headings.length === HEADINGS_MAX) throw tooMany('headings', HEADINGS_MAX);
      if (title !== '') headings.push({ level: depth, title, start: at + indentOf(token.raw) });
    }
    at += token.raw.length;
  }
  return headings;
}

function indentOf(raw: string): number {
  return raw.length - raw.trimStart().length;
}

/** The words of inline markup. */
function plain(tokens: Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'html' || token.type === 'br') return ' ';
      const inner = (token as { tokens?: Token[] }).tokens;
      return inner === undefined ? unescaped((token as { text?: string }).text ?? token.raw) : plain(inner);
    })
    .join('');
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' };

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|nbsp);/g, (_all, name: string) => NAMED[name]);
}
