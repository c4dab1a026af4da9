import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { isCommand } from '../support/machines/containers';

/**
 * One build of the addons serves every x86-64 processor from x86-64-v2 on: an emulator (Debian's package qemu-user)
 * plays processors older than this one, and an instruction that they lack ends the process with SIGILL.
 */

const EMULATOR = 'qemu-x86_64';
const script = resolve(__dirname, '../support/machines/addons-at-work.cjs');

interface Report {
  kernels: string[];
  byGraph: number[];
  byScan: number[];
  scores: number[];
}

async function report(command: string, words: string[]): Promise<Report> {
  const { stdout } = await promisify(execFile)(command, [...words, script]);
  return JSON.parse(stdout) as Report;
}

test('the addons work on this processor', async () => {
  const { kernels, byGraph, byScan, scores } = await report(process.execPath, []);
  expect(kernels.at(-1)).toBe('plain');
  expect(byGraph[0]).toBe(17);
  expect(byGraph).toEqual(byScan);
  expect(scores[0]).toBeCloseTo(1, 5);
});

const isHere = process.platform === 'linux' && process.arch === 'x64' && isCommand(EMULATOR);
const emulated = isHere ? test : test.skip;
const where = isHere ? '' : ` (skipped, not here: ${EMULATOR} on an x86-64 Linux)`;

emulated.each([
  ['Nehalem', ['plain']],
  ['Haswell', ['avx2', 'plain']],
])(`they answer the same on a %s, with its inner loops %j${where}`, async (processor, kernels) => {
  const own = await report(process.execPath, []);
  // Node's own code is emulated too; without its compiler it starts in a second.
  const emulation = await report(EMULATOR, ['-cpu', processor, process.execPath, '--jitless']);
  expect(emulation.kernels).toEqual(kernels);
  expect([emulation.byGraph, emulation.byScan]).toEqual([own.byGraph, own.byScan]);
  emulation.scores.forEach((score, i) => expect(score).toBeCloseTo(own.scores[i], 5));
});
