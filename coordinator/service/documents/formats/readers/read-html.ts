import { type Token, Tokenizer, TokenizerMode } from 'parse5';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { emptyFile, tooMuchText } from '../parser-limits';
import type { ParsedDocument } from '../parsed-document';
import { textOfUtf8 } from './decoded-text';
import { TextCollector, titleOf } from './text-collector';

/** Paragraphs, lines, and cells of a row, as a browser's innerText has them. */
const PARAGRAPHS = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol dl menu table pre blockquote section article hr figure fieldset'.split(' '),
);
const LINES = new Set(
  'div li dt dd tr thead tbody tfoot caption header footer main nav aside address figcaption form legend details summary body html center option optgroup select title br search dialog hgroup dir listing xmp'.split(
    ' ',
  ),
);
const CELLS = new Set(['td', 'th']);
/** Nothing in them is text of the document. */
const SKIPPED = new Set('script style template noscript iframe noembed noframes object svg math head'.split(' '));
/** What ends a head that is not closed, or a drawing with a document in it. */
const LEAVES_SKIPPED = new Set(
  'body p div h1 h2 h3 h4 h5 h6 ul ol dl table pre blockquote section article main'.split(' '),
);
/** Elements whose content is no markup, and how it is read. */
const CONTENT_MODES: Readonly<Record<string, (typeof TokenizerMode)[keyof typeof TokenizerMode]>> = {
  title: TokenizerMode.RCDATA,
  textarea: TokenizerMode.RCDATA,
  script: TokenizerMode.SCRIPT_DATA,
  style: TokenizerMode.RAWTEXT,
  xmp: TokenizerMode.RAWTEXT,
  iframe: TokenizerMode.RAWTEXT,
  noembed: TokenizerMode.RAWTEXT,
  noframes: TokenizerMode.RAWTEXT,
  plaintext: TokenizerMode.PLAINTEXT,
};
/** A declaration of the encoding stands in so many bytes. */
const DECLARED_WITHIN = 1024;
const WRITTEN_AT_ONCE = 1 << 16;

/**
 * The text of an HTML page as a browser shows it, by the tokens of parse5: there is no tree, so memory is that of the
 * text, however elements are nested. Scripts are not run, and nothing is fetched. Errors: invalid_parameter;
 * limit_exceeded.
 */
export function readHtml(bytes: Buffer, { charactersMax }: { charactersMax: number }): ParsedDocument {
  const source = decoded(bytes, charactersMax);
  const page = new PageText(charactersMax);
  const tokenizer = new Tokenizer({ sourceCodeLocationInfo: false }, page);
  page.setMode = (mode) => (tokenizer.state = mode);
  for (let at = 0; at < source.length; at += WRITTEN_AT_ONCE)
    tokenizer.write(source.slice(at, at + WRITTEN_AT_ONCE), false);
  tokenizer.write('', true);
  const text = page.collector.end();
  if (!/\S/.test(text)) throw emptyFile();
  const title = titleOf(page.title);
  return { type: 'html', text, ...(title !== '' && { title }), pages: [], headings: page.collector.headings };
}

class PageText {
  readonly collector: TextCollector;
  title = '';
  setMode: (mode: (typeof TokenizerMode)[keyof typeof TokenizerMode]) => void = () => undefined;
  /** Of what is skipped: the outermost, and how many of the same kind are open. */
  private skipped: { name: string; depth: number } | null = null;
  private isTitle = false;
  private preDepth = 0;

  constructor(charactersMax: number) {
    this.collector = new TextCollector(charactersMax);
  }

  onStartTag({ tagName, selfClosing }: Token.TagToken): void {
    if (Object.hasOwn(CONTENT_MODES, tagName)) this.setMode(CONTENT_MODES[tagName]);
    if (tagName === 'title' && (this.skipped === null || this.skipped.name === 'head')) {
      this.isTitle = this.title === '';
      if (this.isTitle) return;
    }
    if (this.skipped !== null) {
      if (LEAVES_SKIPPED.has(tagName) && ['head', 'svg', 'math'].includes(this.skipped.name)) this.skipped = null;
      else {
        if (tagName === this.skipped.name && !selfClosing) this.skipped.depth += 1;
        return;
      }
    }
    if (SKIPPED.has(tagName)) {
      if (!(selfClosing && ['svg', 'math'].includes(tagName))) this.skipped = { name: tagName, depth: 1 };
      return;
    }
    const level = headingLevel(tagName);
    if (level !== null) return this.collector.beginHeading(level);
    if (CELLS.has(tagName)) return this.collector.tab();
    this.breakAt(tagName);
    if (tagName === 'pre') this.preDepth += 1;
  }

  onEndTag({ tagName }: Token.TagToken): void {
    if (tagName === 'title' && this.isTitle) {
      this.isTitle = false;
      return;
    }
    if (this.skipped !== null) {
      if (tagName === this.skipped.name && --this.skipped.depth === 0) this.skipped = null;
      return;
    }
    if (headingLevel(tagName) !== null) this.collector.endHeading();
    this.breakAt(tagName);
    if (tagName === 'pre' && this.preDepth > 0) this.preDepth -= 1;
  }

  onCharacter({ chars }: Token.CharacterToken): void {
    if (this.isTitle) {
      if (this.title.length < WRITTEN_AT_ONCE) this.title += chars;
    } else if (this.skipped === null) {
      if (this.preDepth > 0) this.collector.addAsIs(chars);
      else this.collector.add(chars);
    }
  }

  onWhitespaceCharacter(token: Token.CharacterToken): void {
    this.onCharacter(token);
  }

  onNullCharacter(): void {}
  onComment(): void {}
  onDoctype(): void {}
  onEof(): void {}
  onParseError(): void {}

  private breakAt(tagName: string): void {
    if (PARAGRAPHS.has(tagName)) this.collector.break(2);
    else if (LINES.has(tagName)) this.collector.break(1);
  }
}

function headingLevel(tagName: string): number | null {
  const found = /^h([1-6])$/.exec(tagName);
  return found === null ? null : Number(found[1]);
}

/** By its byte order mark, else as it declares itself, else UTF-8. */
function decoded(bytes: Buffer, charactersMax: number): string {
  const label = encodingOf(bytes);
  if (label === null || /^utf-?8$/i.test(label)) return textOfUtf8(bytes, Number.MAX_SAFE_INTEGER);
  // A tag takes two characters at least, a text one.
  if (bytes.length > 64 * charactersMax) throw tooMuchText(charactersMax);
  try {
    return new TextDecoder(label).decode(bytes);
  } catch (cause) {
    throw new QuiverError('invalid_parameter', `The page says that its encoding is "${label}", which is not known`, {
      cause,
    });
  }
}

function encodingOf(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return null;
  const begin = bytes.toString('latin1', 0, DECLARED_WITHIN);
  const found =
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w:.-]{1,40})/i.exec(begin) ??
    /^<\?xml[^>]*?encoding\s*=\s*["']([\w:.-]{1,40})/.exec(begin);
  const label = found?.[1] ?? null;
  // A declaration in bytes of ASCII can't be of UTF-16.
  return label !== null && /^utf-?16/i.test(label) ? null : label;
}
