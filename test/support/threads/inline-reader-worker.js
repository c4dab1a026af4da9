/** A thread that searches inline, from its TypeScript source, for tests that do not compile. */
require('../swc-register.js');
require('./inline-reader.ts');
