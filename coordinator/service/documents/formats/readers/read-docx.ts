import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { brokenFile, emptyFile } from '../parser-limits';
import { DOCUMENT_TYPES, type ParsedDocument } from '../parsed-document';
import { TextCollector, titleOf } from './text-collector';
import { WordNumbering } from './word-numbering';
import { type ListLevel, TEXT_OUTLINE, WordStyles } from './word-styles';
import { readXml, type XmlReader } from './xml-events';
import { ZipArchive } from './zip-archive';

/** Unpacked; ten characters of markup for one of text are usual. */
const PART_BYTES_MAX = 128 * 1024 * 1024;
const SIDE_PART_BYTES_MAX = 16 * 1024 * 1024;
const MAIN_PART = /\/relationships\/\w+Document$/;
/** What was deleted, what field codes say, and what is there a second time for older programs. */
const SKIPPED = new Set(['del', 'moveFrom', 'Fallback', 'instrText', 'delText', 'rPrChange', 'pPrChange', 'sectPr']);
/** Elements whose text is text of the document, in whatever paragraph. */
const TEXTS = new Set(['t']);

/**
 * The text of a Word document: paragraphs, tables (a line for each row), notes at its end, and headings with the
 * numbers that a word processor shows. What was deleted under review, comments, headers and footers are left out.
 * Errors: invalid_parameter; limit_exceeded.
 */
export function readDocx(bytes: Buffer, { charactersMax }: { charactersMax: number }): ParsedDocument {
  const archive = new ZipArchive(bytes);
  const main = mainPartOf(archive);
  const folder = main.slice(0, main.lastIndexOf('/') + 1);
  const side = (name: string): Buffer | null => archive.read(folder + name, SIDE_PART_BYTES_MAX);
  const collector = new TextCollector(charactersMax);
  const body = new WordText(collector, new WordStyles(side('styles.xml')), new WordNumbering(side('numbering.xml')));
  readXml(archive.read(main, PART_BYTES_MAX)!, main, body);
  for (const notes of ['footnotes.xml', 'endnotes.xml']) {
    const part = side(notes);
    if (part !== null) readXml(part, notes, new WordText(collector, new WordStyles(null), new WordNumbering(null)));
  }
  const text = collector.end();
  if (!/\S/.test(text)) throw emptyFile();
  const title = titleOf(titleIn(archive));
  return { type: 'docx', text, ...(title !== '' && { title }), pages: [], headings: collector.headings };
}

function mainPartOf(archive: ZipArchive): string {
  let main = 'word/document.xml';
  const relations = archive.read('_rels/.rels', SIDE_PART_BYTES_MAX);
  if (relations !== null) {
    readXml(relations, '_rels/.rels', {
      open: (name, attribute) => {
        if (name === 'Relationship' && MAIN_PART.test(attribute('Type') ?? ''))
          main = (attribute('Target') ?? '').replace(/^\//, '');
      },
      close: () => undefined,
      text: () => undefined,
    });
  }
  if (/^(?:xl|ppt)\//.test(main))
    throw new QuiverError(
      'invalid_parameter',
      `This is a ${main.startsWith('xl') ? 'workbook' : 'presentation'}; supported are ${DOCUMENT_TYPES.join(', ')}`,
    );
  if (!archive.has(main)) throw brokenFile('DOCX', 'it has no document in it');
  return main;
}

function titleIn(archive: ZipArchive): string {
  const core = archive.read('docProps/core.xml', SIDE_PART_BYTES_MAX);
  let title = '';
  let isTitle = false;
  if (core !== null) {
    readXml(core, 'docProps/core.xml', {
      open: (name) => (isTitle = name === 'title'),
      close: () => (isTitle = false),
      text: (text) => (title += isTitle ? text : ''),
    });
  }
  return title;
}

class WordText implements XmlReader {
  private skippedDepth = 0;
  private isText = false;
  /** Of tables within tables, and of the paragraphs and cells that were in the row before. */
  private tableDepth = 0;
  private cells = 0;
  private isFirstInCell = false;
  /** Of the paragraph's properties; its text begins when it is known what it is. */
  private style = '';
  private outline: number | undefined;
  private list: Partial<ListLevel> = {};
  private isBegun = true;

  constructor(
    private readonly collector: TextCollector,
    private readonly styles: WordStyles,
    private readonly numbering: WordNumbering,
  ) {}

  open(name: string, attribute: (name: string) => string | undefined): void {
    if (this.skippedDepth > 0 || SKIPPED.has(name)) {
      this.skippedDepth += 1;
      return;
    }
    const value = (): string => attribute('val') ?? '';
    switch (name) {
      case 'p':
        return this.beginParagraph();
      case 'pStyle':
        this.style = value();
        return;
      case 'outlineLvl':
        this.outline = Number(value());
        return;
      case 'numId':
        this.list.list = value();
        return;
      case 'ilvl':
        this.list.level = Number(value());
        return;
      case 'tbl':
        this.tableDepth += 1;
        return this.collector.break(2);
      case 'tr':
        this.cells = 0;
        return this.collector.break(1);
      case 'tc':
        this.isFirstInCell = true;
        if (this.cells++ > 0) this.collector.tab();
        return;
      case 'tab':
      case 'ptab':
        // Also a tab stop among the properties, which changes nothing before a text.
        return this.collector.tab();
      case 'br':
      case 'cr':
        return this.collector.break(1);
      case 'noBreakHyphen':
        return this.say('-');
      default:
        this.isText = TEXTS.has(name);
    }
  }

  close(name: string): void {
    if (this.skippedDepth > 0) {
      this.skippedDepth -= 1;
      return;
    }
    if (name === 't') this.isText = false;
    else if (name === 'p') this.endParagraph();
    else if (name === 'tbl') {
      this.tableDepth -= 1;
      this.collector.break(2);
    } else if (name === 'footnote' || name === 'endnote') this.collector.break(2);
  }

  text(text: string): void {
    if (this.isText && this.skippedDepth === 0) this.say(text);
  }

  private say(text: string): void {
    if (!this.isBegun) this.begin();
    this.collector.add(text);
  }

  private beginParagraph(): void {
    if (this.tableDepth === 0) this.collector.break(2);
    else if (!this.isFirstInCell) this.collector.break(1);
    this.isFirstInCell = false;
    this.style = '';
    this.outline = undefined;
    this.list = {};
    this.isBegun = false;
  }

  /** The first text of a paragraph. */
  private begin(): void {
    this.isBegun = true;
    const outline = this.outline ?? this.styles.outlineOf(this.style) ?? TEXT_OUTLINE;
    if (!(outline >= 0 && outline < TEXT_OUTLINE) || this.tableDepth > 0) return;
    this.collector.beginHeading(outline + 1);
    const inherited = this.styles.listOf(this.style);
    const list = this.list.list ?? inherited?.list;
    if (list === undefined || list === '0') return;
    const number = this.numbering.next({ list, level: this.list.level ?? inherited?.level ?? outline });
    if (number !== '') this.collector.add(`${number} `);
  }

  private endParagraph(): void {
    this.collector.endHeading();
    if (this.tableDepth === 0) this.collector.break(2);
    this.isBegun = true;
  }
}
