import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StoreProcess } from './store-process.mjs';

/** What is timed: the command of a candidate's process and its words. */
export const SPEEDS = [
  { name: 'batches: 1 × 200 B, 1 writer', command: 'writes', words: { writers: 1, batch: 1, bytes: 200 } },
  { name: 'batches: 1 × 200 B, 32 writers', command: 'writes', words: { writers: 32, batch: 1, bytes: 200 } },
  { name: 'batches: 1,000 × 3.3 KB, 1 writer', command: 'writes', words: { writers: 1, batch: 1000, bytes: 3300 } },
  { name: 'batches: 1,000 × 3.3 KB, 32 writers', command: 'writes', words: { writers: 32, batch: 1000, bytes: 3300 } },
  { name: 'get, 1 caller', command: 'reads', words: { keys: 1, callers: 1 } },
  { name: 'get, 8 callers', command: 'reads', words: { keys: 1, callers: 8 } },
  { name: 'get of 10, 1 caller', command: 'reads', words: { keys: 10, callers: 1 } },
  { name: 'get of 10, 8 callers', command: 'reads', words: { keys: 10, callers: 8 } },
  { name: 'get of 256, 1 caller', command: 'reads', words: { keys: 256, callers: 1 } },
  { name: 'get of 256, 8 callers', command: 'reads', words: { keys: 256, callers: 8 } },
  { name: 'iterated records', command: 'iterate', words: {} },
];

/**
 * Times every candidate in turns: each round asks all of them for one measure before the next, starting with another
 * one each time. Answers, per candidate, lists of figures by the measure's name, or why it was left out.
 */
export async function measureSpeeds({ candidates, folder, rows, rounds, ms, log }) {
  const runs = candidates.map((candidate) => ({
    candidate,
    store: new StoreProcess(candidate),
    folder: join(folder, candidate.name),
    figures: {},
    failed: null,
  }));
  const attempt = async (run, work) => {
    if (run.failed !== null) return;
    try {
      await work(run);
    } catch (error) {
      run.failed = error.message;
      log(`${run.candidate.name} is left out: ${error.message}`);
    }
  };
  try {
    for (const run of runs) {
      mkdirSync(run.folder, { recursive: true });
      await attempt(run, async () => {
        run.loadMs = (await run.store.ask('prepare', { folder: run.folder, rows })).loadMs;
        await run.store.rest();
        log(`${run.candidate.name} loaded in ${Math.round(run.loadMs)} ms`);
      });
    }
    for (let round = 0; round < rounds; round++) {
      for (const speed of SPEEDS) {
        for (let i = 0; i < runs.length; i++) {
          await attempt(runs[(i + round) % runs.length], async (run) => {
            const figure = await run.store.ask(speed.command, { ...speed.words, ms });
            await run.store.rest();
            (run.figures[speed.name] ??= []).push(figure);
          });
        }
      }
      log(`round ${round + 1} of ${rounds}`);
    }
    return runs.map(({ candidate, figures, failed, loadMs }) => ({ name: candidate.name, figures, failed, loadMs }));
  } finally {
    for (const run of runs) {
      await run.store.kill();
      rmSync(run.folder, { recursive: true, force: true });
    }
  }
}
