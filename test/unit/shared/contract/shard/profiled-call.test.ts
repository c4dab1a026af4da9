import { ProfiledCall } from '../../../../../shared/contract/shard/call-profile';
import { answerProfiled, askProfiled } from '../../../../../shared/contract/shard/profiled-call';
import { ManualClock } from '../../../../support/manual-clock';

const about = (clock: ManualClock) => ({ kind: 'search', shard: 0, clock });

test('what the other thread measured is part of what this one waited for, however long the question takes to be copied', async () => {
  const [here, there] = [new ManualClock(), new ManualClock()];
  const profiled = new ProfiledCall({ ...about(here), query: null, startMs: here.monotonicMs(), span: null });
  here.advance(5);
  const ask = () => {
    const answer = answerProfiled(async (served) => {
      there.advance(2);
      served.begun();
      there.advance(3);
      return 'found';
    }, about(there));
    // The other thread is done by then.
    here.advance(10);
    return answer;
  };
  expect(await askProfiled(ask, profiled, here)).toBe('found');
  profiled.end(null);
  expect(profiled.served).toEqual({ waitMs: 7, runMs: 3 });
});

test('what fails there fails here, and nothing is noted', async () => {
  const clock = new ManualClock();
  const profiled = new ProfiledCall({ ...about(clock), query: null, startMs: clock.monotonicMs(), span: null });
  const ask = () => answerProfiled(() => Promise.reject(new Error('out of memory')), about(clock));
  await expect(askProfiled(ask, profiled, clock)).rejects.toThrow('out of memory');
  expect(profiled.served).toBeNull();
});
