import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { JudgedQueries } from '../../clients/typescript/src/api';
import type { Job } from '../../clients/typescript/src/generated/api-types';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { count, outputWidth, printJson } from '../terminal/print';
import { showProgress } from '../terminal/progress';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, jsonObject, wholeNumber } from './connected-command';

type Variant = Record<string, unknown>;
type JsonOption = ConnectionOptions & { json?: true };

/** What a file has: judged queries alone, as a list, or beside the variants that they are asked in. */
interface JudgedFile {
  judged: JudgedQueries;
  variants?: Variant[];
  k?: number;
}

interface EvaluateOptions extends JsonOption {
  file?: JudgedFile;
  variant?: Variant[];
  k?: number;
  atLeast?: number;
}

interface Estimate {
  mean: number;
  low: number;
  high: number;
}

interface Measured {
  ndcg: Estimate;
  recall: Estimate;
  mrr: Estimate;
}

/** What an evaluation answers, as the service documents it. */
interface Evaluation {
  k: number;
  queries: number;
  missing_items: number;
  variants: (Measured & {
    name: string;
    queries_without_hits: number;
    against_first?: Measured & { better: number; worse: number };
  })[];
}

const HITS_MAX = 100;
/** A mean of fractions may be off in its last digits. */
const SAME = 1e-9;

/** Judged queries, and how good searches are by them. */
export function addJudgementCommands(program: Command, context: CommandContext): void {
  const judgements = program
    .command('judgements')
    .description('queries with the items that answer them: list, show, put, delete');
  connected(judgements.command('list').description('list the judgements of a collection').argument('<collection>'))
    .option('--json', 'print JSON')
    .action(async (name: string, options: JsonOption) => {
      const found = await connect(context, options).client.collection(name).listJudgements();
      if (options.json) return printJson(context, found);
      const rows = found.map((one) => [one.name, one.queries, one.grades, one.updated_at]);
      context.output.write(table(['name', 'queries', 'grades', 'since'], rows, outputWidth(context)));
    });
  connected(judgements.command('show').description('print judged queries as JSON, as `put` takes them'))
    .argument('<collection>')
    .argument('<judgements>')
    .action(async (name: string, set: string, options: ConnectionOptions) =>
      printJson(context, (await connect(context, options).client.collection(name).getJudgements(set)).judged),
    );
  connected(judgements.command('put').description('keep judged queries, in the place of what is there'))
    .argument('<collection>')
    .argument('<judgements>')
    .argument('<file>', 'JSON: [{"query": "rivers", "relevant": {"a-1": 2, "a-2": 1}}]', judgedIn)
    .action(async (name: string, set: string, { judged }: JudgedFile, options: ConnectionOptions) => {
      const stored = await connect(context, options).client.collection(name).putJudgements(set, judged);
      context.messages.write(`${stored.name}, queries: ${count(stored.queries)}\n`);
    });
  connected(judgements.command('delete').description('delete judgements'))
    .argument('<collection>')
    .argument('<judgements>')
    .action(async (name: string, set: string, options: ConnectionOptions) =>
      connect(context, options).client.collection(name).deleteJudgements(set),
    );

  connected(
    program
      .command('evaluate')
      .description('compare searches of a collection by judged queries')
      .argument('<collection>')
      .argument('<judgements>'),
  )
    .option(
      '--file <file>',
      'put these judged queries first; {"judged": […], "variants": […], "k": 10} says the variants, too',
      judgedIn,
    )
    .option('--variant <json>', `options of a query, such as '{"alpha": 0.5}'; may be repeated`, variantArgument)
    .option('--k <count>', 'how many hits of each query count (default: 10)', wholeNumber(1, HITS_MAX))
    .option('--at-least <ndcg>', 'end with an error if the first variant has less', share)
    .option('--json', 'print JSON')
    .action(async (name: string, set: string, options: EvaluateOptions) => {
      const { client } = connect(context, options);
      const collection = client.collection(name);
      const { file } = options;
      if (file !== undefined) await collection.putJudgements(set, file.judged);
      const { variant: variants = file?.variants ?? [{}], k = file?.k } = options;
      const begun = await collection.evaluate({ name: set, variants, ...(k !== undefined && { k }) });
      const progress = showProgress(context, { label: begun.id, unit: '%', isQuiet: options.json === true });
      const onProgress = (job: Job): void => progress.report(job.progress, Math.floor(job.progress * 100));
      const job = await client.jobs
        .wait(begun.id, { signal: context.signal, onProgress })
        .finally(() => progress.stop());
      if (job.state !== 'done')
        throw new CommandError(`job ${job.id} ${job.state}${job.error === null ? '' : `: ${job.error}`}`);
      const found = job.result as unknown as Evaluation;
      if (options.json) printJson(context, found);
      else print(context, found);
      const { ndcg } = found.variants[0];
      if (options.atLeast !== undefined && ndcg.mean < options.atLeast - SAME)
        throw new CommandError(`ndcg is ${ndcg.mean.toFixed(4)}, less than ${options.atLeast}`, EXIT_CODES.failed);
    });
}

function print(context: CommandContext, { k, queries, missing_items: missing, variants }: Evaluation): void {
  const shown = ({ mean, low, high }: Estimate): string =>
    `${mean.toFixed(4)} (${low.toFixed(4)} to ${high.toFixed(4)})`;
  const rows = variants.map(({ name, ndcg, recall, mrr, against_first: against }) => [
    name,
    shown(ndcg),
    shown(recall),
    shown(mrr),
    against === undefined ? null : shown(against.ndcg),
    against === undefined ? null : `${against.better}, ${against.worse}`,
  ]);
  const head = ['variant', `ndcg@${k}`, `recall@${k}`, `mrr@${k}`, 'ndcg against the first', 'better, worse'];
  context.output.write(table(head, rows, outputWidth(context)));
  context.messages.write(`queries: ${count(queries)}; in brackets 95 % intervals\n`);
  if (missing > 0) context.messages.write(`judged items that are not in the collection: ${count(missing)}\n`);
}

function judgedIn(file: string): JudgedFile {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new InvalidArgumentError(`It can’t be read as JSON: ${(error as Error).message}`);
  }
  if (Array.isArray(read)) return { judged: read as JudgedQueries };
  const { judged, variants, k } = (read ?? {}) as Record<string, unknown>;
  if (!Array.isArray(judged)) throw new InvalidArgumentError('It must be a list of queries, or have it as "judged".');
  if (variants !== undefined && !Array.isArray(variants))
    throw new InvalidArgumentError('Its "variants" must be a list.');
  if (k !== undefined && !(Number.isInteger(k) && (k as number) >= 1 && (k as number) <= HITS_MAX))
    throw new InvalidArgumentError(`Its "k" must be a whole number from 1 to ${HITS_MAX}.`);
  return {
    judged: judged as JudgedQueries,
    ...(variants !== undefined && { variants: variants as Variant[] }),
    ...(k !== undefined && { k: k as number }),
  };
}

function variantArgument(text: string, before: Variant[] = []): Variant[] {
  return [...before, jsonObject(text)];
}

function share(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0 && number <= 1))
    throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return number;
}
