import { runSeed } from '../support/random';
import { runSchedule } from './fault-schedule';

const SECONDS = Number(process.env.SECONDS ?? 20);

test('a process that is killed, stopped and paused under load keeps every promise to its clients', async () => {
  const seed = runSeed('embedded-histories');
  const { faults, violations, acknowledgedWrites, operations } = await runSchedule({ target: 'embedded', seed, seconds: SECONDS });
  expect({ seed, violations }).toEqual({ seed, violations: [] });
  expect(faults.length).toBeGreaterThan(2);
  // Enough to have tried it; how many there are is the machine's business.
  expect(acknowledgedWrites).toBeGreaterThan(SECONDS * 2);
  expect(operations).toBeGreaterThan(SECONDS * 6);
}, 180_000 + SECONDS * 1000);
