import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { brokenFile, HEADINGS_MAX, PAGES_MAX, tooMany, tooMuchText } from '../parser-limits';
import type { DocumentHeading, ParsedDocument } from '../parsed-document';
import { goesOn, type PagePiece, pageText } from './page-text';
import { titleOf } from './text-collector';

type PdfJs = typeof import('pdfjs-dist', { with: { 'resolution-mode': 'import' } });
type PdfDocument = Awaited<ReturnType<PdfJs['getDocument']>['promise']>;
type OutlineNode = Awaited<ReturnType<PdfDocument['getOutline']>>[number];

/** Deeper outlines are no outlines. */
const OUTLINE_DEPTH_MAX = 10;
const PARTED = '\n\n';

/**
 * The text of a PDF page by page, with its outline as headings. Nothing of it is drawn or run, and nothing fetched.
 * Errors: invalid_parameter where it is broken, encrypted, or has no text; limit_exceeded.
 */
export async function readPdf(bytes: Buffer, { charactersMax }: { charactersMax: number }): Promise<ParsedDocument> {
  const { getDocument, folder } = await pdfJs();
  const task = getDocument({
    data: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    cMapUrl: join(folder, 'cmaps/'),
    cMapPacked: true,
    standardFontDataUrl: join(folder, 'standard_fonts/'),
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    isEvalSupported: false,
    enableXfa: false,
    verbosity: 0,
  });
  try {
    const file = await task.promise.catch((error: Error) => {
      throw refusal(error);
    });
    if (file.numPages > PAGES_MAX) throw tooMany('pages', PAGES_MAX);
    const { text, pages } = await textOf(file, charactersMax);
    if (!/\S/.test(text))
      throw new QuiverError('invalid_parameter', 'The PDF has no text in it; this service has no OCR');
    const title = await titleIn(file);
    const headings = await headingsOf(file, text, pages);
    return { type: 'pdf', text, ...(title !== '' && { title }), pages, headings };
  } finally {
    await task.destroy();
  }
}

async function textOf(file: PdfDocument, charactersMax: number): Promise<{ text: string; pages: number[] }> {
  const parts: string[] = [];
  const pages: number[] = [];
  let length = 0;
  let broken: Error | null = null;
  for (let number = 1; number <= file.numPages; number++) {
    let text = '';
    try {
      const page = await file.getPage(number);
      const { items } = await page.getTextContent();
      page.cleanup();
      text = pageText(items.filter((item): item is typeof item & PagePiece => 'str' in item));
    } catch (error) {
      // The others may be whole.
      broken ??= error as Error;
    }
    const isSentence = parts.length > 0 && goesOn(parts.at(-1)!, text);
    const between = text === '' || length === 0 ? '' : isSentence ? '\n' : PARTED;
    pages.push(length + between.length);
    length += between.length + text.length;
    if (length > charactersMax) throw tooMuchText(charactersMax);
    parts.push(between, text);
  }
  if (length === 0 && broken !== null) throw refusal(broken);
  return { text: parts.join(''), pages };
}

async function titleIn(file: PdfDocument): Promise<string> {
  const { info } = await file.getMetadata().catch(() => ({ info: {} }));
  const { Title: title } = info as { Title?: unknown };
  return typeof title === 'string' ? titleOf(title.replace(/\0/g, '')) : '';
}

/** The outline's entries, each where its words stand on its page, else where the page begins. */
async function headingsOf(file: PdfDocument, text: string, pages: number[]): Promise<DocumentHeading[]> {
  const outline: OutlineNode[] = (await file.getOutline().catch(() => null)) ?? [];
  const headings: DocumentHeading[] = [];
  let last = -1;
  const waiting = outline.map((node) => ({ node, level: 1 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, level } = next;
    if (headings.length === HEADINGS_MAX) throw tooMany('headings', HEADINGS_MAX);
    const title = titleOf(node.title.replace(/\0/g, ''));
    const page = await pageOf(file, node.dest);
    if (title !== '' && page !== null && page < pages.length) {
      const [from, to] = [pages[page], pages[page + 1] ?? text.length];
      // Headings of one page stand in the order of the outline, behind each other.
      const isNext = last >= from && last < to;
      last = placeOf(title, text, isNext ? last + 1 : from, to) ?? (isNext ? last : from);
      headings.push({ level, title, start: last });
    }
    if (level < OUTLINE_DEPTH_MAX)
      for (const item of [...node.items].reverse()) waiting.push({ node: item, level: level + 1 });
  }
  return headings.sort((a, b) => a.start - b.start);
}

async function pageOf(file: PdfDocument, given: unknown): Promise<number | null> {
  try {
    const dest: unknown = typeof given === 'string' ? await file.getDestination(given) : given;
    if (!Array.isArray(dest)) return null;
    const [page] = dest as unknown[];
    if (typeof page === 'number') return page >= 0 ? page : null;
    return await file.getPageIndex(page as Parameters<PdfDocument['getPageIndex']>[0]);
  } catch {
    return null;
  }
}

/** The begin of the line where a title stands, with its number or without; a gap may be none there. null: none. */
function placeOf(title: string, text: string, from: number, to: number): number | null {
  const words = title.split(' ').map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const part = text.slice(from, to);
  for (const gap of ['\\s+', '\\s*']) {
    const found = new RegExp(`^(?:[\\dA-Z.]+${gap})?${words.join(gap)}(?!\\p{L})`, 'mu').exec(part);
    if (found !== null) return from + found.index;
  }
  return null;
}

function refusal(error: Error): QuiverError {
  if (error.name === 'PasswordException')
    return new QuiverError('invalid_parameter', 'The PDF is encrypted; save it without a password');
  return brokenFile('PDF', error.message.charAt(0).toLowerCase() + error.message.slice(1, 200));
}

let loaded: Promise<PdfJs & { folder: string }> | null = null;

function pdfJs(): Promise<PdfJs & { folder: string }> {
  return (loaded ??= load());
}

async function load(): Promise<PdfJs & { folder: string }> {
  const folder = dirname(require.resolve('pdfjs-dist/package.json'));
  standIns();
  const legacy = (await import(pathToFileURL(join(folder, 'legacy/build/pdf.mjs')).href)) as PdfJs;
  return { ...legacy, folder };
}

/** What pdf.js names when it is loaded and uses only to draw. */
function standIns(): void {
  const given = globalThis as Record<string, unknown>;
  for (const name of ['DOMMatrix', 'ImageData', 'Path2D']) given[name] ??= class {};
  const own = process as { getBuiltinModule?: (name: string) => unknown };
  // Before Node 20.16.
  own.getBuiltinModule ??= (name) => require(name) as unknown;
}
