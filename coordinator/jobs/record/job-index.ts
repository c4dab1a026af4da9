import type { Watched } from '../../../shared/cluster-store/entries/watched-entries';
import { isEnded } from '../../service/jobs-service';
import type { JobRecord } from './job-record';

type Job = Watched<JobRecord>;

/** Jobs in the order in which they were begun: however many wait, what is next is found without a look at all. */
export class JobIndex {
  private readonly known = new Map<string, Job>();
  private readonly everything: Job[] = [];
  private readonly waiting = new Map<string, { jobs: Job[]; lines: Map<string, Job[]> }>();
  private readonly leaving = new Set<string>();

  /** `sharesOf`: as a kind has it: jobs with the same are one line. */
  constructor(private readonly sharesOf: (record: JobRecord) => readonly string[] = () => []) {}

  /** All jobs, the oldest first. It changes with them. */
  get all(): readonly Job[] {
    return this.everything;
  }

  /** Keys of jobs that were given up and are not over. */
  get givenUp(): ReadonlySet<string> {
    return this.leaving;
  }

  /** Those of a kind that are not over, the oldest first. It changes with them. */
  underWay(kind: string): readonly Job[] {
    return this.waiting.get(kind)?.jobs ?? [];
  }

  /** The same in lines. */
  lines(kind: string): Iterable<readonly Job[]> {
    return this.waiting.get(kind)?.lines.values() ?? [];
  }

  /** What is known of a key from now on; null: nothing. */
  set(key: string, now: Job | null): void {
    const before = this.known.get(key);
    if (before !== undefined) {
      remove(this.everything, before);
      if (!isEnded(before.value)) this.leave(before);
    }
    this.leaving.delete(key);
    this.known.delete(key);
    if (now === null) return;
    this.known.set(key, now);
    insert(this.everything, now);
    if (isEnded(now.value)) return;
    this.join(now);
    if (now.value.isGivenUp === true) this.leaving.add(key);
  }

  private join(job: Job): void {
    const { kind } = job.value;
    let waiting = this.waiting.get(kind);
    if (waiting === undefined) this.waiting.set(kind, (waiting = { jobs: [], lines: new Map() }));
    insert(waiting.jobs, job);
    const name = this.lineOf(job);
    const line = waiting.lines.get(name);
    if (line === undefined) waiting.lines.set(name, [job]);
    else insert(line, job);
  }

  private leave(job: Job): void {
    const { jobs, lines } = this.waiting.get(job.value.kind)!;
    remove(jobs, job);
    const name = this.lineOf(job);
    const line = lines.get(name)!;
    remove(line, job);
    if (line.length === 0) lines.delete(name);
  }

  private lineOf({ value }: Job): string {
    return JSON.stringify(this.sharesOf(value));
  }
}

function insert(jobs: Job[], job: Job): void {
  jobs.splice(placeOf(jobs, job), 0, job);
}

function remove(jobs: Job[], job: Job): void {
  jobs.splice(placeOf(jobs, job), 1);
}

/** Of the first that is not before it. */
function placeOf(jobs: readonly Job[], job: Job): number {
  let low = 0;
  let high = jobs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(jobs[middle], job)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(a: Job, b: Job): boolean {
  const [first, second] = [a.value.createdAt, b.value.createdAt];
  return first === second ? a.key < b.key : first < second;
}
