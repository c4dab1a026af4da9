// `npm start`: sets up what is missing, then becomes the service in this very process, so that signals reach it and its
// exit code is npm's. CommonJS on purpose, as quiver.cjs is: the pool is sized before the set-up uses it.
const { become, sizeThreadPool } = require('./quiver.cjs');

sizeThreadPool('embedded');

void import('./setup.mjs').then(async ({ setUpOrExit }) => {
  await setUpOrExit();
  become('embedded');
});
