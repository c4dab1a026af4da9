import fc from '../../../node_modules/fast-check/lib/cjs/fast-check';
import { again } from './random';

/**
 * fast-check, as Jest hands it to every file that imports it (jest.config.js); to load it takes as long as many a test
 * file. Property tests draw the same cases at every run, so that none fails by luck; SEED=random or SEED=<number> draws
 * others. One that fails says with what it failed and how to run that again.
 */
const { SEED } = process.env;
if (SEED !== 'random')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED === undefined ? 20_261 : Number(SEED) });

fc.installGlobalPlugin(() => ({
  onAllRunsComplete: (details) => {
    if (!details.failed) return;
    throw new Error(`${fc.defaultReportMessage(details)}\n\nTo run it again: ${again(details.seed)}`, {
      cause: details.errorInstance,
    });
  },
}));

export default fc;
