/** The embedding worker from its TypeScript source, for tests that do not compile. */
require('../swc-register.js');
require('../../../coordinator/models/transformers/embedding-worker.ts');
