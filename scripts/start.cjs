// `npm start`: sets up what is missing, then runs the service in this process, so that signals reach it and its exit
// code becomes npm's. This file is CommonJS for the same reason as quiver.cjs: the pool must get its size before the
// set-up uses it.
const { become, sizeThreadPool } = require('./quiver.cjs');

if (process.argv.length > 2) {
  process.stderr.write('npm start has no options: the environment configures it, see docs/configuration.md\n');
  process.exit(2);
}
sizeThreadPool('embedded');
// Whether somebody reads what the set-up says is nothing to the service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

void import('./setup.mjs').then(async ({ setUpOrExit }) => {
  await setUpOrExit();
  become('embedded');
});
