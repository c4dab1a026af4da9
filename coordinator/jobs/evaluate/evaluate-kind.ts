import { setImmediate as nextRound } from 'node:timers/promises';
import { type ErrorKind, isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { RerankProvider } from '../../models/rerank/reranker';
import { isEnded, type JobRights, type JobView } from '../../service/jobs-service';
import { type Estimate, estimates } from '../../service/judgements/estimates';
import type { EvaluationRequest, JudgedQuery, JudgementsService } from '../../service/judgements-service';
import { MEASURES, type Measures, measuresOf } from '../../service/judgements/measures';
import type { StoredJudgements } from '../../service/judgements/stored-judgements';
import type { SearchRequest } from '../../service/search-request';
import type { FoundList, SearchService } from '../../service/service';
import type { JobKind, RunningJob } from '../record/job-kind';
import type { AskedJobs } from '../record/job-source';
import type { StoredJobs } from '../record/stored-jobs';

export const EVALUATE = 'evaluate';
/** Queries that are told of a variant: those that lost most. */
const TOLD_QUERIES = 5;
const TOLD_CHARACTERS = 200;
/** Of a collection, that are not over. */
const EVALUATIONS_MAX = 16;
/** Ids of one filter. */
const IDS_AT_ONCE = 1_000;
/** Shards on machines with other instructions may score an item differently in its last digits. */
const SAME = 1e-9;

/** Kinds of errors by which a search is refused as it is. */
const REFUSED: ReadonlySet<ErrorKind> = new Set([
  'invalid_parameter',
  'schema_violation',
  'dimension_mismatch',
  'limit_exceeded',
]);

interface EvaluateInput extends EvaluationRequest {
  /** Of the collection, and the revision of the judgements: others than were meant are not evaluated. */
  identity: string;
  revision: number;
}

/** The search for a text that the options of a variant ask for. Errors: those of a request, with the field's path. */
export type VariantSearch = (variant: Record<string, unknown>, text: string, k: number) => SearchRequest;

type Estimates = Record<keyof Measures, Estimate>;

/** Asks the judged queries of a collection in several variants, one after the other, and compares the answers. */
export class EvaluateKind implements JobKind {
  readonly kind = EVALUATE;
  readonly rights: JobRights = { see: 'readonly', change: 'readwrite' };
  /** It asks as fast as it is answered. */
  readonly atOnce = 1;
  readonly unpausable = 'it would begin again';

  constructor(
    private readonly parts: {
      judgements: Pick<StoredJudgements, 'find' | 'presentOf'>;
      search: Pick<SearchService, 'search' | 'count'>;
      searchOf: VariantSearch;
    },
  ) {}

  async run(job: RunningJob, stop: AbortSignal): Promise<object> {
    const { search, searchOf } = this.parts;
    const collection = job.record.collection!;
    const input = job.record.input as EvaluateInput;
    const { variants, k } = input;
    const judged = await this.judgedOf(collection, input);
    const { vectorsSince } = await this.parts.judgements.presentOf(collection);
    const total = judged.length * variants.length;
    const measured: Measures[][] = variants.map(() => []);
    const empty = variants.map(() => 0);
    for (const [i, { query, relevant }] of judged.entries()) {
      for (const [at, variant] of variants.entries()) {
        stop.throwIfAborted();
        const { hits } = await asked(async () => search.search(collection, searchOf(variant, query, k)), query, at);
        if (hits.length === 0) empty[at] += 1;
        measured[at].push(measuresOf(idsOf(hits), relevant, k));
        // What is found at once is no round of the event loop.
        await nextRound();
      }
      job.report({ done: (i + 1) * variants.length, total, waitsFor: null });
    }
    const missing = await this.missing(collection, judged, stop);
    // Hits of another collection under this name would be taken for its own.
    const present = await this.parts.judgements.presentOf(collection);
    if (present.identity !== input.identity)
      throw new QuiverError('conflict', `collection "${collection}" was made anew while it was asked; evaluate again`);
    // One mean over vectors of two models would be of neither.
    if (present.vectorsSince !== vectorsSince)
      throw new QuiverError(
        'conflict',
        `collection "${collection}" got vectors of another model while it was asked; evaluate again`,
      );
    return {
      judgements: input.name,
      k,
      queries: judged.length,
      missing_items: missing,
      variants: await inSlices(compared(variants, measured, empty, judged)),
    };
  }

  private async judgedOf(collection: string, { name, identity, revision }: EvaluateInput): Promise<JudgedQuery[]> {
    const found = await this.parts.judgements.find(collection, name);
    if (found.identity === identity && found.revision === revision) return found.judged;
    throw new QuiverError('conflict', `judgements "${name}" were changed before they were evaluated; evaluate again`);
  }

  /** How many of the items with a grade above 0 are not in the collection. */
  private async missing(collection: string, judged: readonly JudgedQuery[], stop: AbortSignal): Promise<number> {
    const ids = new Set(
      judged.flatMap(({ relevant }) => [...relevant].flatMap(([id, grade]) => (grade > 0 ? id : []))),
    );
    const all = [...ids];
    let present = 0;
    for (let at = 0; at < all.length; at += IDS_AT_ONCE) {
      stop.throwIfAborted();
      const part = all.slice(at, at + IDS_AT_ONCE);
      present += await this.parts.search.count(collection, { type: 'ids', ids: part });
    }
    return all.length - present;
  }
}

/** Errors: those of `search`; what it refuses, with the query and the variant that it is about. */
async function asked(search: () => Promise<FoundList>, query: string, at: number): Promise<FoundList> {
  try {
    return await search();
  } catch (error) {
    if (!isQuiverError(error) || !REFUSED.has(error.kind)) throw error;
    throw new QuiverError(error.kind, `variants[${at}], asked for ${JSON.stringify(told(query))}: ${error.message}`, {
      cause: error,
    });
  }
}

/** The beginning of a long text. */
function told(text: string): string {
  if (text.length <= TOLD_CHARACTERS) return text;
  return `${text.slice(0, TOLD_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function idsOf(hits: FoundList['hits']): string[] {
  return hits.map(({ externalId }) => externalId);
}

function* compared(
  variants: readonly Record<string, unknown>[],
  measured: readonly Measures[][],
  empty: readonly number[],
  judged: readonly JudgedQuery[],
): Generator<undefined, object[]> {
  const first = measured[0];
  const differences = measured
    .slice(1)
    .map((own) => own.map((of, i) => mapped((measure) => of[measure] - first[i][measure])));
  const lists = [...measured, ...differences].flatMap((own) => MEASURES.map((measure) => own.map((of) => of[measure])));
  const all = yield* estimates(lists);
  const estimatesOf = (at: number): Estimates => mapped((_, i) => all[at * MEASURES.length + i]);
  return variants.map(({ name, ...options }, at) => ({
    name: typeof name === 'string' ? name : told(JSON.stringify(options)),
    ...estimatesOf(at),
    queries_without_hits: empty[at],
    ...(at > 0 && {
      against_first: {
        ...estimatesOf(measured.length + at - 1),
        better: differences[at - 1].filter(({ ndcg }) => ndcg > SAME).length,
        worse: differences[at - 1].filter(({ ndcg }) => ndcg < -SAME).length,
        lost_most: lostMost(first, measured[at], judged),
      },
    }),
  }));
}

function lostMost(first: readonly Measures[], own: readonly Measures[], judged: readonly JudgedQuery[]): object[] {
  return judged
    .map(({ query }, i) => ({ query: told(query), first_ndcg: first[i].ndcg, ndcg: own[i].ndcg }))
    .filter(({ first_ndcg: before, ndcg }) => ndcg < before - SAME)
    .sort((a, b) => a.ndcg - a.first_ndcg - (b.ndcg - b.first_ndcg))
    .slice(0, TOLD_QUERIES);
}

function mapped<Value>(make: (measure: keyof Measures, i: number) => Value): Record<keyof Measures, Value> {
  return Object.fromEntries(MEASURES.map((measure, i) => [measure, make(measure, i)])) as Record<keyof Measures, Value>;
}

/** Judgements that are stored, and evaluations of them as jobs. */
export class JudgementRequests implements JudgementsService {
  constructor(
    private readonly parts: {
      stored: StoredJudgements;
      jobs: Pick<StoredJobs, 'begin' | 'list' | 'newId'>;
      searchOf: VariantSearch;
      reranker: Pick<RerankProvider, 'modelOf'>;
    },
  ) {}

  list: JudgementsService['list'] = (collection) => this.parts.stored.list(collection);
  put: JudgementsService['put'] = (collection, name, judged) => this.parts.stored.put(collection, name, judged);
  delete: JudgementsService['delete'] = (collection, name) => this.parts.stored.delete(collection, name);

  async get(collection: string, name: string) {
    const { view, judged } = await this.parts.stored.find(collection, name);
    return { ...view, judged };
  }

  async evaluate(collection: string, request: EvaluationRequest): Promise<JobView> {
    const { stored, jobs } = this.parts;
    const { identity, revision } = await stored.find(collection, request.name);
    await this.mustHaveModels(request);
    // A client that begins them faster than they end would fill the store.
    const isWaiting: AskedJobs['is'] = (job) => job.kind === EVALUATE && job.collection === collection && !isEnded(job);
    if ((await jobs.list({ is: isWaiting, most: EVALUATIONS_MAX })).length >= EVALUATIONS_MAX)
      throw new QuiverError(
        'limit_exceeded',
        `collection "${collection}" has ${EVALUATIONS_MAX} evaluations that are not over, the most there may be; wait for them or cancel them`,
      );
    const input: EvaluateInput = { ...request, identity, revision };
    const id = jobs.newId(EVALUATE);
    return jobs.begin({ id, kind: EVALUATE, collection, subject: request.name, input, unit: 'searches' });
  }

  /** Who asks would learn of a model that is none from a job that has failed. Errors: invalid_parameter. */
  private async mustHaveModels({ variants, k }: EvaluationRequest): Promise<void> {
    const { searchOf, reranker } = this.parts;
    for (const [i, variant] of variants.entries()) {
      const { rerank } = searchOf(variant, 'a', k);
      if (rerank === undefined) continue;
      await reranker.modelOf(rerank.model).catch((error: unknown) => {
        if (!isQuiverError(error)) throw error;
        throw new QuiverError(error.kind, `variants[${i}].rerank: ${error.message}`, { cause: error });
      });
    }
  }
}
