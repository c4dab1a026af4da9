import { runSeed } from '../support/values/random';
import { backupRounds } from './backup-rounds';

const ROUNDS = 5;

test.each(['embedded', 'cluster'] as const)(
  '%s: what is restored from backups taken under writes, while processes die, is what clients could have read',
  async (target) => {
    const lines: string[] = [];
    const report = await backupRounds({
      target,
      rounds: ROUNDS,
      seed: runSeed(`backups-${target}`),
      kills: 0.5,
      onRound: (line) => lines.push(line),
    });
    console.log(lines.join('\n'));
    expect(report.violations).toEqual([]);
    expect(report.backups).toBe(ROUNDS);
    expect(report.failed).toBeLessThan(ROUNDS);
  },
);
