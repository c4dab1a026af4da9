/** The embedding worker from its TypeScript source, for tests that do not compile. */
require('./swc-register.js');
require('../../coordinator/embedding/transformers/embedding-worker.ts');
