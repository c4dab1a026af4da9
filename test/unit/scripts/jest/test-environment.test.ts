/** The environment in which tests run is scripts/jest/test-environment.cjs. */
test('which test runs is kept without an AsyncLocalStorage, for which each promise would pay', () => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 100;
  const { stack } = new Error('who has called this test');
  Error.stackTraceLimit = stackTraceLimit;
  expect(stack).toContain('RunningTest.run');
  expect(stack).not.toContain('AsyncLocalStorage.run');
});
