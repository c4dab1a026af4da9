/**
 * Jest runs a test file in a context of its own, where the look-up of a global takes most of a microsecond: 50 times
 * the work of a `Math.imul`. These are handed to each module instead. What tests put in the place of another (timers,
 * `process`, `fetch`) is not among them, nor what modules declare under the same name.
 */
const SANDBOX_INJECTED_GLOBALS = [
  ...[
    'Object',
    'Array',
    'Math',
    'Number',
    'String',
    'Boolean',
    'Symbol',
    'BigInt',
    'JSON',
    'RegExp',
    'Reflect',
    'Proxy',
  ],
  ...['Map', 'Set', 'WeakMap', 'Promise', 'Error', 'TypeError', 'RangeError', 'ArrayBuffer', 'DataView'],
  ...[
    'Int8Array',
    'Uint8Array',
    'Int16Array',
    'Uint16Array',
    'Int32Array',
    'Uint32Array',
    'BigInt64Array',
    'BigUint64Array',
  ],
  ...['Float32Array', 'Float64Array', 'SharedArrayBuffer', 'Atomics', 'isNaN', 'isFinite', 'parseInt', 'parseFloat'],
];

/** Jest over the TypeScript sources: swc strips the types, `tsc --noEmit` (run by scripts/test.mjs) checks them. */
module.exports = {
  testEnvironment: '<rootDir>/scripts/jest/test-environment.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist'],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/test/bench/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
    // Comes as a module of the other kind, which Jest loads only once it was made into one of its own.
    '/node_modules/jose/.+\\.js$': ['@swc/jest', { jsc: { target: 'es2022' }, module: { type: 'commonjs' } }],
  },
  transformIgnorePatterns: ['/node_modules/(?!jose/)'],
  sandboxInjectedGlobals: SANDBOX_INJECTED_GLOBALS,
  moduleNameMapper: { '^fast-check$': '<rootDir>/test/support/values/fixed-seeds.ts' },
  globalSetup: '<rootDir>/scripts/jest/memory-folder.cjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/time-limit.js'],
  testSequencer: '<rootDir>/scripts/jest/test-sequencer.cjs',
  // On two cores: what starts processes mostly waits for them, and one worker of three computes meanwhile (the order:
  // scripts/jest/test-sequencer.cjs). Four would end a fifth sooner, but all would wait longer for what they time.
  maxWorkers: 3,
  reporters: [
    'default',
    '<rootDir>/scripts/jest/hanging-test-reporter.cjs',
    '<rootDir>/scripts/jest/closing-line-reporter.cjs',
  ],
};
