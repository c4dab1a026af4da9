import { useEffect, useState } from 'preact/hooks';
import { ApiError, call, messageOf, path } from '../api/client';
import type { Job } from '../api/shapes';
import { count } from '../parts/format';
import { Busy, Failure, Meter } from '../parts/notice';
import { usePolling } from '../state/polling';
import { mayWrite } from '../state/session';
import { EarlierComparisons } from './earlier-comparisons';
import type { Evaluation } from './evaluation';
import { MeasureTable } from './measure-table';
import { namedVariants, sentVariant, type Variant } from './variants';

const POLL_MS = 1_000;
const ENDED: readonly Job['state'][] = ['done', 'failed', 'cancelled'];

interface ComparisonProps {
  collection: string;
  /** The name of the judgements. */
  name: string;
  variants: Variant[];
  k: number;
  /** When a grade was changed last; null: there is none. */
  gradedAt: string | null;
  /** Why it can't begin now; null: it can. */
  obstacle: string | null;
  /** The job whose result is shown; null: there is none. */
  job: string | null;
  onJob: (id: string) => void;
  onQuery: (query: string) => void;
}

/** Has the service ask the judged queries in each variant, and shows what came of it. */
export function Comparison({
  collection,
  name,
  variants,
  k,
  gradedAt,
  obstacle,
  job,
  onJob,
  onQuery,
}: ComparisonProps) {
  const [failure, setFailure] = useState<unknown>(null);
  const [isBeginning, setBeginning] = useState(false);
  /** What the job was begun with: its messages name variants by their numbers. */
  const [asked, setAsked] = useState<Variant[]>(variants);
  const [over, setOver] = useState<string | null>(null);
  const polled = usePolling(
    job === null ? null : `job/${job}`,
    over === job ? 0 : POLL_MS,
    (signal) => call<'get_jobs_id'>('GET', path('/v1/jobs/', job ?? ''), { signal }),
    true,
  );
  const found = polled.data;
  useEffect(() => {
    if (found !== null && ENDED.includes(found.state)) setOver(found.id);
  }, [found]);
  const isUnderWay = job !== null && found !== null && !ENDED.includes(found.state);

  const begin = async (): Promise<void> => {
    setBeginning(true);
    setFailure(null);
    try {
      const begun = await call<'post_collections_name_evaluate'>(
        'POST',
        path('/v1/collections/', collection, '/evaluate'),
        { body: { name, variants: variants.map(sentVariant), k } },
      );
      setAsked(variants);
      onJob(begun.id);
    } catch (error) {
      setFailure(error instanceof ApiError ? new Error(namedVariants(error.message, variants)) : error);
    }
    setBeginning(false);
  };
  const cancel = async (id: string): Promise<void> => {
    try {
      await call<'delete_jobs_id'>('DELETE', path('/v1/jobs/', id));
    } catch (error) {
      setFailure(error);
    }
    polled.refresh();
  };

  return (
    <section class="card" aria-label="Comparison">
      <div class="card-head">
        <h2>Comparison</h2>
        <span class="actions">
          {isUnderWay && mayWrite() && (
            <button type="button" onClick={() => void cancel(found.id)}>
              Cancel
            </button>
          )}
          {mayWrite() && (
            <button
              type="button"
              class="primary"
              disabled={obstacle !== null || isBeginning || isUnderWay}
              onClick={() => void begin()}
            >
              Compare
            </button>
          )}
        </span>
      </div>
      <div class="card-body stack">
        {obstacle !== null && <p class="quiet">{obstacle}</p>}
        <EarlierComparisons collection={collection} name={name} shown={job} ended={over} onJob={onJob} />
        <Failure error={failure} />
        {job !== null && <JobState job={found} error={polled.error} asked={asked} />}
        {found?.state === 'done' && isOld(found, gradedAt) && (
          <p class="notice warn" role="status">
            The judged queries were kept anew since this comparison.
          </p>
        )}
        {found?.state === 'done' && (
          <MeasureTable collection={collection} evaluation={found.result as unknown as Evaluation} onQuery={onQuery} />
        )}
        {obstacle === null && job === null && failure === null && (
          <p class="quiet">Each judged query is asked in each variant, and the grades of its hits are counted.</p>
        )}
      </div>
    </section>
  );
}

function isOld({ created_at: asked }: Job, gradedAt: string | null): boolean {
  return asked !== null && gradedAt !== null && gradedAt > asked;
}

function JobState({ job, error, asked }: { job: Job | null; error: unknown; asked: Variant[] }) {
  if (job === null) {
    if (error === null) return <Busy>Asking for the comparison…</Busy>;
    const isGone = error instanceof ApiError && error.code === 404;
    return <Failure error={isGone ? new Error('This comparison is gone: results are kept for 7 days.') : error} />;
  }
  if (job.state === 'failed')
    return <Failure error={new Error(namedVariants(job.error ?? 'It failed without a reason.', asked))} />;
  if (job.state === 'cancelled') return <p class="quiet">The comparison was cancelled.</p>;
  if (job.state === 'done') return null;
  return (
    <div class="stack tight-stack" role="status">
      <span class="small">
        {job.total > 0 ? `${count(job.done)} of ${count(job.total)} searches` : 'The comparison begins…'}
      </span>
      <Meter share={job.progress} label="Progress of the comparison" />
      {job.waits_for !== null && <span class="small quiet">Waits for {job.waits_for}</span>}
      <Failure error={error === null ? null : messageOf(error)} />
    </div>
  );
}
