import fc from 'fast-check';

/** Property tests draw the same cases at every run, so that none fails by luck; SEED=random or SEED=<number> draws others. */
const { SEED } = process.env;
if (SEED !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED === undefined ? 20_261 : Number(SEED) });
