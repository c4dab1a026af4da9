import { JobIndex } from '../../../../../coordinator/jobs/record/job-index';
import { type JobRecord, jobPath, newJobRecord } from '../../../../../coordinator/jobs/record/job-record';
import { isEnded } from '../../../../../coordinator/service/jobs-service';
import { runSeed, seededRandom } from '../../../../support/values/random';

const KINDS = ['document', 'verify'];
const STATES: JobRecord['state'][] = ['queued', 'running', 'paused', 'done', 'failed', 'cancelled'];

test('however jobs come, change and go, they are in the order in which they were begun', () => {
  const random = seededRandom(runSeed('job index'));
  const below = (count: number): number => Math.floor(random() * count);
  const index = new JobIndex(({ subject }) => [subject]);
  const plain = new Map<string, JobRecord>();
  for (let round = 0; round < 3_000; round++) {
    const number = below(60);
    const id = `${KINDS[number % 2]}-${number}`;
    const key = jobPath(id);
    if (random() < 0.2) {
      plain.delete(key);
      index.set(key, null);
    } else {
      // Some began at the same time, and one that is restored may have begun at another.
      const at = random() < 0.95 ? number >> 3 : below(9);
      const job = { id, kind: KINDS[number % 2], collection: null, subject: String(number % 5), input: null, unit: '' };
      const value = { ...newJobRecord(job, at), state: STATES[below(STATES.length)], isGivenUp: random() < 0.1 };
      plain.set(key, value);
      index.set(key, { key, value, revision: round });
    }
    if (round % 50 > 0) continue;
    const ordered = [...plain].sort(([a, { createdAt: first }], [b, { createdAt: second }]) =>
      first === second ? (a < b ? -1 : 1) : first < second ? -1 : 1,
    );
    const keys = (jobs: Iterable<{ key: string }>): string[] => [...jobs].map((one) => one.key);
    expect(keys(index.all)).toEqual(ordered.map(([one]) => one));
    const underWay = ordered.filter(([, value]) => !isEnded(value));
    for (const kind of KINDS) {
      const lines = [...index.lines(kind)];
      for (const line of lines) {
        const [{ value }] = line;
        const own = underWay.filter(([, one]) => one.kind === kind && one.subject === value.subject);
        expect(keys(line)).toEqual(own.map(([one]) => one));
      }
      expect(lines.flat()).toHaveLength(index.underWay(kind).length);
      expect(keys(index.underWay(kind))).toEqual(
        underWay.filter(([, value]) => value.kind === kind).map(([one]) => one),
      );
    }
    expect([...index.givenUp].sort()).toEqual(
      underWay
        .filter(([, { isGivenUp }]) => isGivenUp === true)
        .map(([one]) => one)
        .sort(),
    );
  }
  expect(index.underWay('none')).toEqual([]);
});
