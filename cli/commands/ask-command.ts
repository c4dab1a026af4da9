import type { Command } from 'commander';
import type { AnswerAnswer, AnswerRequest } from '../../clients/typescript/src/api';
import type { CommandContext } from '../command-context';
import { printJson } from '../terminal/print';
import { printable, printableLines } from '../terminal/table';
import {
  type ConnectionOptions,
  connect,
  connected,
  filtered,
  filterOf,
  type FilterOptions,
  wholeNumber,
} from './connected-command';
import { finiteNumber } from './search-flags';

interface AskOptions extends ConnectionOptions, FilterOptions {
  k?: number;
  alpha?: number;
  model?: string;
  maxTokens?: number;
  minScore?: number;
  rerank?: string | true;
  expand?: number;
  json?: true;
}

const PASSAGES_MAX = 100;
const TOKENS_MAX = 32_768;
const NEIGHBOURS_MAX = 10;

export function addAskCommand(program: Command, context: CommandContext): void {
  const command = connected(
    program
      .command('ask')
      .description('have a language model answer a question from a collection, with checked citations')
      .argument('<collection>')
      .argument('<question...>'),
  )
    .option('-k, --k <count>', 'passages that the model reads (default: 8)', wholeNumber(1, PASSAGES_MAX))
    .option('--alpha <number>', 'how they are found: 1 by meaning (default), 0 by words', finiteNumber);
  filtered(command, 'only passages whose metadata match')
    .option('--rerank [model]', 'a model orders the passages before; left out: the server’s first')
    .option('--min-score <number>', 'passages that score less are not read', finiteNumber)
    .option('--expand <chunks>', 'read so many chunks before and after each, too', wholeNumber(0, NEIGHBOURS_MAX))
    .option('--model <name>', 'the language model; otherwise the service’s first')
    .option('--max-tokens <count>', 'tokens that it writes at most (default: 1024)', wholeNumber(1, TOKENS_MAX))
    .option('--json', 'print JSON, when all is there')
    .action(async (name: string, words: string[], options: AskOptions) => {
      const { client } = connect(context, options);
      const request = requestOf(name, words.join(' '), options);
      // A stream in any case: as long as the model writes, there is an answer.
      for await (const event of client.answerStream(request, { signal: context.signal })) {
        if (event.type === 'text' && !options.json) context.output.write(printableLines(event.text));
        else if (event.type === 'answer' && options.json) printJson(context, event.answer);
        else if (event.type === 'answer') printSupport(context, event.answer);
      }
    });
}

function requestOf(collection: string, question: string, options: AskOptions): AnswerRequest {
  const { k, alpha, model, maxTokens, minScore, rerank, expand } = options;
  const filter = filterOf(options);
  return {
    collection_name: collection,
    question,
    ...(k !== undefined && { k }),
    ...(alpha !== undefined && { alpha }),
    ...(filter !== undefined && { filters: filter as never }),
    ...(rerank !== undefined && { rerank: rerank === true ? {} : { model: rerank } }),
    ...(minScore !== undefined && { min_score: minScore }),
    ...(expand !== undefined && { expand: { before: expand, after: expand } }),
    ...(model !== undefined && { model }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
}

/** The citations of each sentence, and which have none. */
function printSupport({ output, messages }: CommandContext, answer: AnswerAnswer): void {
  if (answer.refused) return void messages.write('nothing relevant was found, and no model was asked\n');
  output.write('\n');
  for (const { text, citations } of answer.sentences) {
    output.write(`\n${printableLines(text)}\n`);
    if (citations.length === 0) output.write('  no support was found\n');
    for (const citation of citations) {
      const place = placeOf(citation, answer.sources);
      output.write(`  “${printable(citation.quote.replace(/\s+/g, ' '))}” (${printable(place)})\n`);
    }
  }
  if (answer.finish !== 'stop') messages.write(`the model stopped early: ${answer.finish}\n`);
}

type Citation = AnswerAnswer['sentences'][number]['citations'][number];

/** Where a person finds the quote: file, page and headings; of what is no document, the id. */
function placeOf({ number, external_id: id, page }: Citation, sources: AnswerAnswer['sources']): string {
  const found = sources.find((one) => one.number === number);
  const file = found?.document_key ?? found?.source;
  // A chunk beside the one that was found may be of another section.
  const headings = found?.external_id === id ? (found.headings ?? []) : [];
  const parts = [
    file === undefined || file === '' ? id : file,
    ...(page === undefined ? [] : [`page ${page}`]),
    ...(headings.length === 0 ? [] : [headings.join(' › ')]),
  ];
  return parts.join(', ');
}
