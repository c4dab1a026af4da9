const { relative, resolve } = require('node:path');
const { isFast } = require('./fast-tests.js');

/**
 * For how long a test may take, by what it is. Far more than any takes, for a machine that is slow and has other work:
 * seconds have taken minutes there. It is also more than `eventually` waits, so that what did not come is
 * named.
 */
const FAST_MS = 300_000;
/** Where processes, clusters and builds start, and where a test takes seconds of a processor. */
const SLOW_MS = 900_000;

jest.setTimeout(isFast(relative(resolve(__dirname, '../..'), expect.getState().testPath)) ? FAST_MS : SLOW_MS);
