import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DocumentParser } from '../../../coordinator/service/documents/formats/document-parser';
import type { ParsedDocument } from '../../../coordinator/service/documents/formats/parsed-document';
import { cutDocument } from '../../../coordinator/service/documents/cut-document';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { openDocumentParser } from '../../support/processes/document-parsers';
import { pdfFile } from '../../support/values/pdf-file';
import { docxFile, zipFile } from '../../support/values/zip-file';
import { mutateBytes, smallerBytes } from '../byte-mutation';
import { below, type FuzzTarget, pick } from '../fuzz-target';

/** A file, its bytes in base64. */
export interface DocumentCase {
  name: string;
  bytes: string;
}

const FIXTURES = join(__dirname, '../../fixtures/documents');
const TYPES = /\.(?:pdf|docx|html|md|csv|jsonl|txt)$/;
/** Larger files take the time of many small ones. */
const SEED_BYTES_MAX = 64 * 1024;
/** So large, or so long to read, that something grows faster than the file. */
const MEMORY_MIB = 400;
const TIME_MS = 60_000;
const EXPECTED = new Set(['invalid_parameter', 'limit_exceeded']);
const HEALTHY = 'It is well.';

/** Documents that are changed: each is read and cut, or refused for what is wrong with it, by bounds of its cost. */
export class DocumentTarget implements FuzzTarget<DocumentCase> {
  readonly name = 'documents';
  readonly casesPerCheck = 500;
  private parser: DocumentParser | null = null;
  private crashes: string[] = [];
  private turn = 0;
  private readonly seeds = seeds();

  async start(): Promise<void> {
    this.parser = openDocumentParser({
      limits: { memoryMiB: MEMORY_MIB, timeMs: TIME_MS },
      log: { info: () => undefined, warn: (facts: unknown) => void this.crashes.push(JSON.stringify(facts)) },
    });
    for (const { name, bytes } of this.seeds) {
      const faults = await this.run({ name, bytes: bytes.toString('base64') });
      if (faults.length > 0) throw new Error(`${name} as it is: ${faults.join('; ')}`);
    }
  }

  /** Every seed has its turn. */
  generate(random: () => number): DocumentCase {
    const { name, bytes } = this.seeds[this.turn++ % this.seeds.length];
    const changed = name.endsWith('.docx') && random() < 0.7 ? mutatedPart(random, bytes) : mutateBytes(random, bytes);
    return { name, bytes: changed.toString('base64') };
  }

  async run({ name, bytes }: DocumentCase): Promise<string[]> {
    const content = Buffer.from(bytes, 'base64');
    try {
      return await faultsOf(name, await this.parser!.parse({ content: { bytes: content }, name }));
    } catch (error) {
      const crashes = this.crashes.splice(0);
      if (crashes.length > 0) return [`crash: ${name}: ${crashes[0].slice(0, 600)}`];
      if (!isQuiverError(error) || !EXPECTED.has(error.kind)) return [`error: ${name}: ${String(error)}`];
      if (error.kind === 'limit_exceeded' && content.length < SEED_BYTES_MAX && /PARSER_/.test(error.message))
        return [`cost: ${name}: ${error.message}`];
      return /node_modules|\n {4}at /.test(error.message) ? [`told: ${name}: ${error.message}`] : [];
    }
  }

  async check(): Promise<string[]> {
    const { text } = await this.parser!.parse({ content: { bytes: Buffer.from(HEALTHY) }, name: 'well.txt' });
    return text === HEALTHY ? [] : [`health: a text is read as ${JSON.stringify(text)}`];
  }

  shrink({ name, bytes }: DocumentCase): DocumentCase[] {
    return smallerBytes(Buffer.from(bytes, 'base64')).map((smaller) => ({ name, bytes: smaller.toString('base64') }));
  }

  async stop(): Promise<void> {
    await this.parser?.close();
    this.parser = null;
  }
}

function seeds(): { name: string; bytes: Buffer }[] {
  const made = [
    { name: 'made.pdf', bytes: pdfFile(['One page', 'Another'], ['First', 'Second']) },
    {
      name: 'made.docx',
      bytes: docxFile('<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>A</w:t></w:r></w:p>'),
    },
    {
      name: 'made.html',
      bytes: Buffer.from('<head><title>T</title></head><h1>A</h1><table><tr><td>1<td>2</table><pre> x'),
    },
    {
      name: 'made.md',
      bytes: Buffer.from('---\ntitle: T\n---\n# A\n\n- a\n  - b\n\n```\n# c\n```\n\nB\n---\n| a |\n|---|\n'),
    },
    { name: 'made.csv', bytes: Buffer.from('a;b\n"1;2";x\n3,5;"y""z"\n') },
    { name: 'made.jsonl', bytes: Buffer.from('{"a":[1,{"b":null}],"text":"x"}\n{"c":{"d":"e"}}\n') },
  ];
  const found = readdirSync(FIXTURES)
    .filter((name) => TYPES.test(name))
    .map((name) => ({ name, bytes: readFileSync(join(FIXTURES, name)) }))
    .filter(({ bytes }) => bytes.length <= SEED_BYTES_MAX);
  return [...made, ...found];
}

/** An archive with one of its files changed inside: changed bytes of the archive are hardly ever more than damage. */
function mutatedPart(random: () => number, archive: Buffer): Buffer {
  const files: Record<string, Buffer> = {};
  // By the directory at its end: the heads of files that were written as they came do not say how long they are.
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0) return mutateBytes(random, archive);
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [nameBytes, extra, comment] = [28, 30, 32].map((place) => archive.readUInt16LE(at + place));
    const name = archive.toString('utf8', at + 46, at + 46 + nameBytes);
    const head = archive.readUInt32LE(at + 42);
    const from = head + 30 + archive.readUInt16LE(head + 26) + archive.readUInt16LE(head + 28);
    const content = archive.subarray(from, from + archive.readUInt32LE(at + 20));
    files[name] = archive.readUInt16LE(at + 10) === 8 ? inflateRawSync(content) : content;
    at += 46 + nameBytes + extra + comment;
  }
  const names = Object.keys(files).filter((name) => /(?:document|styles|numbering|\.rels|core)/.test(name));
  if (names.length === 0) return mutateBytes(random, archive);
  const name = pick(random, names);
  const changed = mutateBytes(random, files[name]);
  const all = Object.entries(files).map(([own, content]) => [
    own,
    { deflated: deflateRawSync(own === name ? changed : content), claims: below(random, 2) * content.length },
  ]);
  return zipFile(Object.fromEntries(all));
}

async function faultsOf(name: string, document: ParsedDocument): Promise<string[]> {
  const { text, headings, pages, rows } = document;
  const starts = [...headings.map(({ start }) => start), ...pages, ...(rows ?? []).map(({ start }) => start)];
  if (starts.some((start) => !(start >= 0 && start <= text.length)))
    return [`place: ${name} has a part outside of its text`];
  if (!text.isWellFormed()) return [`text: ${name} has half a character`];
  for (const strategy of ['sentences', 'headings', 'fixed'] as const) {
    let last = -1;
    for await (const chunk of cutDocument(document, { strategy, size: 200, overlap: 20, unit: 'characters' })) {
      if (chunk.text !== text.slice(chunk.start, chunk.end) || chunk.text.length > 200 || chunk.start <= last)
        return [`chunk: ${name} has ${JSON.stringify(chunk).slice(0, 300)} behind ${last} by ${strategy}`];
      last = chunk.start;
    }
  }
  return [];
}
