/** Jest over the TypeScript sources: swc strips the types, `tsc --noEmit` (run by scripts/test.mjs) checks them. */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist'],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/test/bench/'],
  transform: { '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } }] },
  setupFiles: ['<rootDir>/test/support/fixed-seeds.ts'],
  setupFilesAfterEnv: ['<rootDir>/test/support/time-limit.js'],
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/scripts/hanging-test-reporter.cjs', '<rootDir>/scripts/closing-line-reporter.cjs'],
};
