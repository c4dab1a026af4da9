import {
  CatchUpPace,
  CHANGES_LEFT_MAX,
  LEAST_TEXTS_PER_SECOND,
  TEXTS_LEFT_MAX,
} from '../../../../../coordinator/jobs/reshard/catch-up-pace';

/** Clients who want to write so many a second, a copy that takes over so many, half as many while it rests. */
function simulate({
  wanted,
  copied,
  left,
  seconds,
  pace = new CatchUpPace(),
}: {
  wanted: number;
  copied: number;
  left: number;
  seconds: number;
  pace?: CatchUpPace;
}) {
  const course: { left: number; rests: boolean; limit: number | undefined; isOutrun: boolean }[] = [];
  let taken = 0;
  for (let ms = 0; ms <= seconds * 1000; ms += 100) {
    pace.note({ taken, left }, ms);
    course.push({ left, rests: !pace.isUrgent, limit: pace.writesPerSecond, isOutrun: pace.isOutrun });
    const done = Math.min(left, (pace.isUrgent ? copied : copied / 2) / 10);
    taken += done;
    left += Math.min(wanted, pace.writesPerSecond ?? Infinity) / 10 - done;
  }
  return course;
}

test('clients who write slowly are left alone, and the copy rests', () => {
  const course = simulate({ wanted: 1_000, copied: 8_000, left: 50_000, seconds: 60 });
  expect(course.every(({ rests, limit }) => rests && limit === undefined)).toBe(true);
  expect(course.at(-1)!.left).toBeLessThan(CHANGES_LEFT_MAX);
});

test('when they write more, it rests no longer, and they are not slowed as long as that is enough', () => {
  const course = simulate({ wanted: 3_000, copied: 8_000, left: 50_000, seconds: 60 });
  expect(course.some(({ rests }) => !rests)).toBe(true);
  expect(course.every(({ limit }) => limit === undefined)).toBe(true);
  expect(course.at(-1)!.left).toBeLessThan(CHANGES_LEFT_MAX);
});

test('clients who write as fast as the copy or faster are slowed to half of it until it has caught up, and then less and less', () => {
  for (const wanted of [8_000, 80_000]) {
    const course = simulate({ wanted, copied: 8_000, left: 50_000, seconds: 120 });
    const first = course.findIndex(({ limit }) => limit !== undefined);
    expect(course[first].limit).toBeCloseTo(4_000, -1);
    const caught = course.findIndex(({ left }, at) => at > first && left <= CHANGES_LEFT_MAX);
    expect(caught).toBeGreaterThan(first);
    expect(Math.max(...course.slice(caught).map(({ limit }) => limit ?? 0))).toBeGreaterThan(4_500);
    // It is caught up again and again, however long something else takes.
    expect(Math.min(...course.slice(-200).map(({ left }) => left))).toBeLessThanOrEqual(CHANGES_LEFT_MAX);
  }
});

test('clients that write faster than a slow model are slowed until it has caught up, and that they outran it is known', () => {
  const pace = new CatchUpPace(TEXTS_LEFT_MAX, LEAST_TEXTS_PER_SECOND);
  const course = simulate({ wanted: 50, copied: 20, left: 400, seconds: 240, pace });
  expect(course.some(({ isOutrun }) => isOutrun)).toBe(true);
  const caught = course.findIndex(({ left }) => left <= TEXTS_LEFT_MAX);
  expect(caught).toBeGreaterThan(0);
  // Half of what it takes over.
  expect(Math.min(...course.map(({ limit }) => limit ?? Infinity))).toBeCloseTo(10, 0);
});
