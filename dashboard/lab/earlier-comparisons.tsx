import { call } from '../api/client';
import type { Job } from '../api/shapes';
import { dateTime } from '../parts/format';
import { usePolling } from '../state/polling';
import type { Evaluation } from './evaluation';

const LISTED = 100;
const NAMES_LENGTH_MAX = 60;

interface EarlierComparisonsProps {
  collection: string;
  /** The name of the judgements. */
  name: string;
  /** The job that is shown; null: none. */
  shown: string | null;
  /** The job that ended last while the page was open: then there is one more. */
  ended: string | null;
  onJob: (id: string) => void;
}

/** Results that the service still has, of the same judgements. */
export function EarlierComparisons({ collection, name, shown, ended, onJob }: EarlierComparisonsProps) {
  const list = usePolling(`evaluations/${collection}/${name}/${ended ?? ''}`, 0, (signal) =>
    call<'get_jobs'>('GET', `/v1/jobs?kind=evaluate&state=done&limit=${LISTED}`, { signal }),
  );
  const jobs = (list.data?.jobs ?? []).filter((job) => job.collection === collection && job.subject === name);
  if (jobs.length === 0) return null;
  return (
    <label class="check earlier">
      <span class="quiet">Shown</span>
      <select
        value={jobs.some(({ id }) => id === shown) ? (shown ?? '') : ''}
        onChange={(event) => {
          if (event.currentTarget.value !== '') onJob(event.currentTarget.value);
        }}
      >
        <option value="">–</option>
        {jobs.map((job) => (
          <option key={job.id} value={job.id}>
            {dateTime(job.created_at)}: {namesOf(job)}
          </option>
        ))}
      </select>
    </label>
  );
}

function namesOf({ result }: Job): string {
  const names = (result as unknown as Evaluation).variants.map(({ name }) => name).join('; ');
  return names.length > NAMES_LENGTH_MAX ? `${names.slice(0, NAMES_LENGTH_MAX)}…` : names;
}
