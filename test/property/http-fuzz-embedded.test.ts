import { startEmbedded } from '../support/targets/embedded-target';
import { describeHttpFuzz } from './http-fuzz-suite';

/** The HTTP layer alone gets more requests of the same kinds: what a process adds to it shows in these. */
const RUNS = 75;

describeHttpFuzz('an embedded process', startEmbedded, RUNS);
