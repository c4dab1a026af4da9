import { runSeed } from '../support/random';
import { backupRounds } from './backup-rounds';

jest.setTimeout(240_000);

test.each(['embedded', 'cluster'] as const)('%s: what is restored from backups taken under writes, while processes die, is what clients could have read', async (target) => {
  const lines: string[] = [];
  const report = await backupRounds({ target, rounds: 4, seed: runSeed(`backups-${target}`), kills: 0.5, onRound: (line) => lines.push(line) });
  console.log(lines.join('\n'));
  expect(report.violations).toEqual([]);
  expect(report.backups).toBe(4);
  expect(report.failed).toBeLessThan(4);
});
