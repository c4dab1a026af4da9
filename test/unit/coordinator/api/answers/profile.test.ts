import { profileOf, shortProfile } from '../../../../../coordinator/api/answers/profile';
import { SlowWatch } from '../../../../../coordinator/api/load/slow-watch';
import { CallProfile } from '../../../../../shared/contract/shard/call-profile';
import { ManualClock } from '../../../../support/manual-clock';

const NAMES = { requestId: 'r', traceId: null };

/** Calls of shards, each by when it begins and ends. */
function noted(clock: ManualClock, calls: [number, number][]): CallProfile {
  const startMs = clock.monotonicMs();
  const notes = new CallProfile(clock);
  calls.forEach(([from, to], shard) => {
    const at = new ManualClock(startMs + from);
    const note = Object.assign(new CallProfile(at), { calls: notes.calls }).begin('search', shard);
    at.advance(to - from);
    note.end(null);
  });
  return notes;
}

describe('a profile', () => {
  test('divides all of the time, and counts each moment once', () => {
    const clock = new ManualClock(1000);
    const notes = noted(clock, [
      [30, 60],
      [40, 70],
    ]);
    notes.step('route', 1010, 1012);
    notes.step('embed', 1012, 1022);
    notes.step('node', 1022, 1075);
    notes.step('merge', 1075, 1077);
    notes.step('rerank', 1077, 1078);
    const profile = profileOf(notes, { startedMs: 1000, handedMs: 1010, doneMs: 1080, parseMs: 4 }, NAMES);
    expect(profile).toMatchObject({
      total_ms: 80,
      wait_ms: 6,
      parse_ms: 4,
      route_ms: 2,
      embed_ms: 10,
      queue_ms: 8,
      shards_ms: 40,
      merge_ms: 7,
      rerank_ms: 1,
      other_ms: 2,
    });
    expect(profile.shards).toMatchObject([
      { shard: 0, start_ms: 30, total_ms: 30, place: 'shard', attempts: 1, wait_ms: null, plan: null },
      { shard: 1, start_ms: 40, total_ms: 30 },
    ]);
    expect(shortProfile(profile, 1).shards).toHaveLength(1);
  });

  test('of a request that asked no shard has no calls', () => {
    const profile = profileOf(
      new CallProfile(new ManualClock()),
      { startedMs: 0, handedMs: 1, doneMs: 3, parseMs: 0 },
      NAMES,
    );
    expect(profile).toMatchObject({ total_ms: 3, wait_ms: 1, shards_ms: 0, other_ms: 2, shards: [] });
  });
});

test('a collection is watched for a minute after a slow search, and no more than 64 are', () => {
  const watch = new SlowWatch();
  expect(watch.has('c', () => 0)).toBe(false);
  watch.note('c', 0);
  expect(watch.has('c', () => 59_999)).toBe(true);
  expect(watch.has('other', () => 0)).toBe(false);
  expect(watch.has('c', () => 60_000)).toBe(false);
  for (let i = 0; i < 65; i += 1) watch.note(`c${i}`, 0);
  expect([watch.has('c0', () => 0), watch.has('c1', () => 0), watch.has('c64', () => 0)]).toEqual([false, true, true]);
});
