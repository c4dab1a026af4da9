import { runSeed } from '../support/values/random';
import { runSchedule } from './fault-schedule';

const SECONDS = Number(process.env.SECONDS ?? 20);

test(
  'a process that is killed, stopped and paused under load and reshards keeps every promise to its clients',
  async () => {
    const seed = runSeed('embedded-histories');
    const least = { faults: 3, operations: SECONDS * 6, acknowledgedWrites: SECONDS * 2, reshards: 1 };
    const { violations } = await runSchedule({ target: 'embedded', seed, seconds: SECONDS, least });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
  },
  900_000 + SECONDS * 1000,
);
