import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { measureFolder } from './documents-folder.mjs';
import { makeFolder } from './documents-made.mjs';
import { measureQueue } from './documents-queue.mjs';
import { writeFigures } from './figures-file.mjs';
import { median } from './measure.mjs';
import { processorSeconds } from './process-facts.mjs';
import { seededRandom } from './seeded-random.mjs';

export const DOCUMENTS_USAGE = `npm run bench -- documents [options]

How long documents take from their bytes to their chunks: reading in the process of parsers, and cutting in this one; both by the
clock and, in brackets, of a processor. The first round starts the process.

With --folder, what a service makes of a folder of files beside its model alone, which embeds the same texts, in turns: the rate,
which files are refused, and whether each other is found. Files below \`broken/\` are to be refused. With --queued, what documents
take that wait, and how many are stored in a second.

  --folder PATH   with --model PATH, a folder of a model, --threads N (2) and --slices N turns (4)
  --make PATH     only fills a folder with --files N (1000), from real ones below --from FOLDER of up to --bytes N (120000)
  --queued N      documents, embedded, or with --nodes N of a cluster
  --megabytes N   of a Markdown file that is made (10)
  --pages N       of a PDF that is made, of 45 lines each (100)
  --file PATH     measured as well; as often as wanted
  --rounds N      5
  --json FILE     everything measured, as JSON
`;

const SEED = 7;
const LINES_OF_PAGE = 45;
const WORDS =
  'the of and in to was is for with on as by at from his that it an were are which this also be has had first one their its new after who they two her she been other when time during there into all year city school team world state over only most some would where later up national made many part film season out more family number music early game long well house war company day life work north south river water church second place song small village'.split(
    ' ',
  );

export async function documentsBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      megabytes: { type: 'string', default: '10' },
      pages: { type: 'string', default: '100' },
      file: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '5' },
      folder: { type: 'string' },
      model: { type: 'string' },
      threads: { type: 'string', default: '2' },
      slices: { type: 'string', default: '4' },
      make: { type: 'string' },
      files: { type: 'string', default: '1000' },
      bytes: { type: 'string', default: '120000' },
      from: { type: 'string', multiple: true, default: ['/usr/share/doc', 'node_modules'] },
      queued: { type: 'string' },
      nodes: { type: 'string', default: '0' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(DOCUMENTS_USAGE);
    return;
  }
  if (values.make !== undefined) {
    makeFolder({
      folder: values.make,
      count: Number(values.files),
      from: values.from,
      bytes: Number(values.bytes),
    });
    return;
  }
  if (values.folder !== undefined || values.queued !== undefined) {
    const figures =
      values.folder === undefined
        ? { queue: await measureQueue({ count: Number(values.queued), nodes: Number(values.nodes) }) }
        : { folder: await measureFolder(folderOptions(values)) };
    if (values.json !== undefined) writeFigures(values.json, figures);
    return;
  }
  const files = [
    { name: `${values.megabytes} MB of Markdown, made.md`, bytes: madeMarkdown(Number(values.megabytes) * 1e6) },
    { name: `${values.pages} pages, made.pdf`, bytes: madePdf(Number(values.pages)) },
    ...values.file.map((path) => ({ name: basename(path), bytes: readFileSync(path) })),
  ];
  const measured = [];
  for (const { name, bytes } of files) {
    const figures = await measureDocument(name, bytes, Number(values.rounds));
    process.stdout.write(
      `${name}: ${bytes.length} bytes, ${figures.characters} characters, ${figures.pages} pages, ${figures.chunks} chunks; ` +
        `with the start ${figures.firstMs} ms, then read ${figures.readMs} (${figures.readCpuMs}) ms, ` +
        `cut ${figures.cutMs} (${figures.cutCpuMs}) ms\n`,
    );
    measured.push(figures);
  }
  if (values.json !== undefined) writeFigures(values.json, { documents: measured });
}

function folderOptions({ folder, model, threads, slices }) {
  if (model === undefined) throw new Error(`--model is missing\n\n${DOCUMENTS_USAGE}`);
  return { folder, model, threads: Number(threads), slices: Number(slices) };
}

async function measureDocument(name, bytes, rounds) {
  const require = createRequire(import.meta.url);
  const folder = '../../dist/coordinator/service/documents';
  const { DocumentParser } = require(`${folder}/formats/document-parser.js`);
  const { cutDocument } = require(`${folder}/cut-document.js`);
  const parser = new DocumentParser({
    limits: { memoryMiB: 1024, timeMs: 600_000, bytesMax: 2 ** 30, charactersMax: 2 ** 27 },
    log: { info() {}, warn: (facts) => console.error(facts) },
    program: require.resolve('../../dist/programs/parser-program.js'),
  });
  const turns = [];
  let document;
  let chunks = 0;
  try {
    for (let round = 0; round <= rounds; round++) {
      const startedAt = performance.now();
      const used = parser.pid === null ? 0 : processorSeconds(parser.pid);
      document = await parser.parse({ content: { bytes }, name });
      const readAt = performance.now();
      const readCpuMs = 1000 * (processorSeconds(parser.pid) - used);
      const cpu = process.cpuUsage();
      chunks = 0;
      for await (const _ of cutDocument(document, {
        strategy: 'sentences',
        size: 500,
        overlap: 50,
        unit: 'characters',
      }))
        chunks += 1;
      const { user, system } = process.cpuUsage(cpu);
      turns.push({
        readMs: readAt - startedAt,
        readCpuMs,
        cutMs: performance.now() - readAt,
        cutCpuMs: (user + system) / 1000,
      });
    }
  } finally {
    await parser.close();
  }
  const [first, ...rest] = turns;
  return {
    name,
    bytes: bytes.length,
    characters: document.text.length,
    pages: document.pages.length,
    chunks,
    firstMs: Math.round(first.readMs + first.cutMs),
    readMs: middle(rest.map(({ readMs }) => readMs)),
    readCpuMs: middle(rest.map(({ readCpuMs }) => readCpuMs)),
    cutMs: middle(rest.map(({ cutMs }) => cutMs)),
    cutCpuMs: middle(rest.map(({ cutCpuMs }) => cutCpuMs)),
  };
}

function middle(figures) {
  return Math.round(median(figures));
}

/** Sections of paragraphs, lists, tables and code. */
function madeMarkdown(bytes) {
  const random = seededRandom(SEED);
  const sentence = () => `${said(random, 6 + Math.floor(random() * 14))}. `;
  const parts = [];
  for (let length = 0, section = 1; length < bytes; section++) {
    const lines = [
      `${'#'.repeat(1 + (section % 3))} ${section} ${said(random, 4)}`,
      '',
      Array.from({ length: 8 }, sentence).join('').trim(),
      '',
      ...Array.from(
        { length: 4 },
        () => `- ${said(random, 8)} **${said(random, 2)}** [link](https://example.org/${section})`,
      ),
      '',
      '```sh',
      `run --${said(random, 1)} # ${said(random, 4)}`,
      '```',
      '',
      '| a | b |',
      '|---|---|',
      `| ${said(random, 2)} | ${said(random, 3)} |`,
      '',
      Array.from({ length: 12 }, sentence).join('').trim(),
      '',
    ].join('\n');
    parts.push(lines);
    length += lines.length;
  }
  return Buffer.from(parts.join('\n')).subarray(0, bytes);
}

function said(random, count) {
  const text = Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
  return text[0].toUpperCase() + text.slice(1);
}

function madePdf(pages) {
  const random = seededRandom(SEED);
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '', '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'];
  const kids = [];
  for (let page = 0; page < pages; page++) {
    const lines = Array.from({ length: LINES_OF_PAGE }, () => `(${said(random, 12)}.) Tj T*`).join('\n');
    const content = `BT /F 11 Tf 14 TL 50 780 Td\n${lines}\nET`;
    kids.push(`${objects.length + 1} 0 R`);
    objects.push(
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 840]/Resources<</Font<</F 3 0 R>>>>/Contents ${objects.length + 2} 0 R>>`,
      `<</Length ${content.length}>>\nstream\n${content}\nendstream`,
    );
  }
  objects[1] = `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${pages}>>`;
  // Without a table of places: a reader finds them.
  const body = objects.map((object, i) => `${i + 1} 0 obj\n${object}\nendobj\n`).join('');
  return Buffer.from(`%PDF-1.4\n${body}trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n0\n%%EOF`);
}
