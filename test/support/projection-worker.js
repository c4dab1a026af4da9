/** The worker that projects samples from its TypeScript source, for tests that do not compile. */
require('./swc-register.js');
require('../../coordinator/sampling/projection-worker.ts');
