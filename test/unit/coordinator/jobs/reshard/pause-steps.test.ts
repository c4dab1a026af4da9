import { PauseSteps } from '../../../../../coordinator/jobs/reshard/pause-steps';
import { ManualClock } from '../../../../support/manual-clock';

test('each step has what passed since the one before, and what comes again is added', () => {
  const clock = new ManualClock();
  const steps = new PauseSteps(clock);
  for (const [step, ms] of [
    ['seal', 5.4],
    ['changes', 20],
    ['seal', 2],
  ] as const) {
    clock.advance(ms);
    steps.note(step);
  }
  // Nobody waits for what comes behind the last step.
  clock.advance(100);
  expect(steps.facts).toEqual({ pauseMs: 27, stepsMs: { seal: 7, changes: 20 } });
});
