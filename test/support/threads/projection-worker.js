/** The worker that projects samples from its TypeScript source, for tests that do not compile. */
require('../swc-register.js');
require('../../../coordinator/service/sampling/projection-worker.ts');
