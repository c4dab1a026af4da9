/** The environment in which tests run is scripts/jest/test-environment.cjs. */
test('what makes promises does not pay for the knowledge of which test runs', async () => {
  const made = [Promise.resolve(), (async () => undefined)()];
  await Promise.all(made);
  expect(made.map((one) => Object.getOwnPropertySymbols(one))).toEqual([[], []]);
});
