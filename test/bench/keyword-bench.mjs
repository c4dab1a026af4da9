import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { KeywordCorpus } from './keyword-corpus.mjs';
import { measureKeywordIndex } from './keyword-in-process.mjs';
import { measureKeywordService } from './keyword-service.mjs';

export const KEYWORD_USAGE = `npm run bench -- keyword [options]

Keyword search over generated short documents, by the index in process and over HTTP.

  --documents N      1000000
  --queries N        300: 2 to 4 words, common and rare ones mixed
  --language CODE    of the collection; none by default
  --seconds N        of load over HTTP (8); --no-http leaves it out
  --json FILE        everything measured, as JSON
`;

export async function keywordBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      documents: { type: 'string', default: '1000000' },
      queries: { type: 'string', default: '300' },
      language: { type: 'string' },
      seconds: { type: 'string', default: '8' },
      'no-http': { type: 'boolean' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(KEYWORD_USAGE);
    return;
  }
  const count = Number(values.documents);
  const language = values.language ?? null;
  // Its words have no forms and no accents, so a language changes what analysis costs and not what is found.
  const queries = Array.from(
    { length: Number(values.queries) },
    (
      (corpus) => () =>
        corpus.query()
    )(new KeywordCorpus()),
  );
  const index = measureKeywordIndex({ corpus: new KeywordCorpus(), count, queries, language });
  const service = values['no-http']
    ? null
    : await measureKeywordService({
        corpus: new KeywordCorpus(),
        count,
        queries,
        language,
        seconds: Number(values.seconds),
      });
  process.stdout.write(`\n${formatKeywordReport({ count, language, queries, index, service })}`);
  if (values.json !== undefined) {
    writeFigures(values.json, { count, language, index, service });
  }
}

const MIB = 1024 * 1024;
const mebibytes = (bytes) => `${Math.round(bytes / MIB)} MiB`;
const grouped = (value) => Math.round(value).toLocaleString('en');

function formatKeywordReport({ count, language, queries, index, service }) {
  const lines = [
    `${grouped(count)} documents of ${index.averageLength.toFixed(1)} words, ${queries.length} queries of 2 to 4 words, language ${language ?? 'none'}`,
    '',
    `in process: ${grouped(index.documentsPerSecond)} documents/s analysed and indexed, ${mebibytes(index.memoryBytes)} (text ${mebibytes(index.textBytes)})`,
    `saved in ${Math.round(index.saveMs)} ms to ${mebibytes(index.savedBytes)}, loaded in ${Math.round(index.loadMs)} ms`,
  ];
  for (const { k, pruned, exhaustive } of index.searches) {
    lines.push(
      `k ${String(k).padStart(3)}: ${latency(pruned)}; exhaustive scoring ${latency(exhaustive)} (${(exhaustive.p50Ms / pruned.p50Ms).toFixed(1)} ×), same answers`,
    );
  }
  if (service !== null) {
    lines.push(
      '',
      `over HTTP: ${grouped(service.loading.rowsPerSecond)} documents/s until acknowledged, ${mebibytes(service.memory?.ownBytes ?? 0)} resident without mapped files`,
    );
    for (const speed of service.speeds)
      lines.push(`${speed.connections} connections: ${grouped(speed.queriesPerSecond)} queries/s, ${latency(speed)}`);
    lines.push(
      `first answer after SIGTERM ${Math.round(service.restartMs.SIGTERM)} ms, after SIGKILL ${Math.round(service.restartMs.SIGKILL)} ms`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function latency({ p50Ms, p99Ms }) {
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
}
