const config = require('./jest.config.js');
const { FOLDERS, SLOW } = require('./test/support/fast-tests.js');

/** The fast tests (`npm run test:fast`); `npm test` runs them all. */
module.exports = {
  ...config,
  // These only compute.
  maxWorkers: 2,
  testMatch: FOLDERS.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  testPathIgnorePatterns: [...config.testPathIgnorePatterns, ...Object.keys(SLOW)],
};
