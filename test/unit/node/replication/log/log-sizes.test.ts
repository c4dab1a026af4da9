import { LogSizes } from '../../../../../node/replication/log/log-sizes';
import { runSeed, seededRandom } from '../../../../support/values/random';

test('the newest entries within a number of bytes, as counting one by one finds them', () => {
  const random = seededRandom(runSeed('log sizes'));
  for (let run = 0; run < 200; run++) {
    const sizes = new LogSizes();
    const known = new Map<number, number>();
    let first = 1;
    // What was there before the process began.
    let last = Math.floor(random() * 20);
    for (let step = 0; step < 60; step++) {
      if (random() < 0.1) last = Math.max(first - 1, last - Math.floor(random() * 30));
      last += 1;
      for (const sequence of known.keys()) if (sequence >= last) known.delete(sequence);
      const bytes = 1 + Math.floor(random() * 100);
      known.set(last, bytes);
      sizes.add(last, bytes);
      if (random() < 0.1) {
        first = Math.max(first, last - Math.floor(random() * 20));
        for (const sequence of known.keys()) if (sequence < first) known.delete(sequence);
        sizes.trim(first);
      }
      const limit = Math.floor(random() * 600);
      let expected = last + 1;
      for (let sum = 0; expected > first && sum + (known.get(expected - 1) ?? 0) <= limit;)
        sum += known.get(--expected) ?? 0;
      expect(Math.max(first, sizes.firstWithin(limit, last))).toBe(expected);
      const from = first + Math.floor(random() * Math.max(1, last - first));
      let below = from;
      for (let sum = 0; below <= last && sum < limit; below += 1) sum += known.get(below) ?? 0;
      expect([sizes.firstBeyond(from, limit), sizes.between(from, below)]).toEqual([
        below,
        [...known].reduce((sum, [at, one]) => (at >= from && at < below ? sum + one : sum), 0),
      ]);
    }
  }
});
