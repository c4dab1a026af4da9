import { useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import type { Job } from '../api/shapes';
import { count, dateTime, percent, seconds } from '../parts/format';
import { Failure, Meter } from '../parts/notice';
import { Question } from '../parts/question';
import { usePolling } from '../state/polling';
import { tell } from '../state/toasts';

const POLL_MS = 3_000;
const SHOWN = 100;
const TAGS: Record<Job['state'], string> = {
  queued: '',
  running: 'accent',
  paused: 'warn',
  done: 'good',
  failed: 'bad',
  cancelled: '',
};
/** Kinds that can rest. */
const PAUSABLE = ['document', 'verify'];
const UNDER_WAY: readonly Job['state'][] = ['queued', 'running', 'paused'];

/** Long work of the service: how far it is, and to let it rest or give it up. */
export function JobsPage() {
  const [cursor, setCursor] = useState('');
  const [cancelling, setCancelling] = useState<Job | null>(null);
  const query = `?limit=${SHOWN}${cursor === '' ? '' : `&cursor=${cursor}`}`;
  const page = usePolling(`jobs${cursor}`, POLL_MS, (signal) =>
    call<'get_jobs'>('GET', `/v1/jobs${query}`, { signal }),
  );
  const change = async (job: Job, verb: 'pause' | 'resume'): Promise<void> => {
    try {
      await call<'post_jobs_id_pause' | 'post_jobs_id_resume'>('POST', path('/v1/jobs/', job.id, `/${verb}`));
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
    page.refresh();
  };
  const jobs = page.data?.jobs ?? [];
  return (
    <section class="card" aria-labelledby="jobs-title">
      <div class="card-head">
        <h1 id="jobs-title">Jobs</h1>
        <span class="quiet small">documents, backups, restores, reshards and other long work, the newest first</span>
      </div>
      <div class="card-body stack">
        <Failure error={page.data === null ? page.error : null} />
        {page.data !== null && jobs.length === 0 && (
          <p class="quiet">There is no long work, and there was none within 7 days.</p>
        )}
        <ul class="stack">
          {jobs.map((job) => (
            <JobRow
              key={job.id}
              job={job}
              onCancel={() => setCancelling(job)}
              onChange={(verb) => void change(job, verb)}
            />
          ))}
        </ul>
        <div class="row">
          {cursor !== '' && (
            <button type="button" onClick={() => setCursor('')}>
              The newest
            </button>
          )}
          {page.data?.next_cursor && (
            <button type="button" onClick={() => setCursor(page.data?.next_cursor ?? '')}>
              Earlier ones
            </button>
          )}
        </div>
      </div>
      {cancelling !== null && (
        <Question
          title={`Cancel ${cancelling.id}?`}
          verb="Cancel the job"
          onClose={() => setCancelling(null)}
          run={async () => {
            await call<'delete_jobs_id'>('DELETE', path('/v1/jobs/', cancelling.id));
            page.refresh();
          }}
        >
          <p>What it made is taken back. It does not go on.</p>
        </Question>
      )}
    </section>
  );
}

function JobRow({
  job,
  onCancel,
  onChange,
}: {
  job: Job;
  onCancel: () => void;
  onChange: (verb: 'pause' | 'resume') => void;
}) {
  const isUnderWay = UNDER_WAY.includes(job.state);
  return (
    <li class="move">
      <span class="break">
        <strong>{job.kind}</strong> {job.collection ?? ''} {job.subject}{' '}
        <span class={`tag ${TAGS[job.state]}`}>{job.state}</span>
      </span>
      <span class="quiet small">
        {job.step === null ? '' : `${job.step} · `}
        {percent(job.progress)}
        {job.total > 0 ? ` · ${count(job.done)} of ${count(job.total)} ${job.unit}` : ''}
        {job.seconds_left === null ? '' : ` · ${seconds(job.seconds_left)} left`}
        {job.created_at === null ? '' : ` · ${dateTime(job.created_at)}`}
      </span>
      {isUnderWay && <Meter share={job.progress} label={`Progress of ${job.id}`} />}
      {job.waits_for !== null && <p class="notice warn break">Waits for {job.waits_for}</p>}
      {job.error !== null && <p class="notice bad break">{job.error}</p>}
      {isUnderWay && (
        <span class="row">
          {PAUSABLE.includes(job.kind) && job.state !== 'paused' && (
            <button type="button" class="tight" onClick={() => onChange('pause')} aria-label={`Pause ${job.id}`}>
              Pause
            </button>
          )}
          {job.state === 'paused' && (
            <button type="button" class="tight" onClick={() => onChange('resume')} aria-label={`Resume ${job.id}`}>
              Resume
            </button>
          )}
          <button type="button" class="tight" onClick={onCancel} aria-label={`Cancel ${job.id}`}>
            Cancel
          </button>
        </span>
      )}
    </li>
  );
}
