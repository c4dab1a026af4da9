/**
 * Loaded into an attacked process by NODE_OPTIONS: a profile of its main thread, written to QUIVER_PROFILE when it
 * ends.
 */
const { writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const { isMainThread } = require('node:worker_threads');

if (isMainThread && process.env.QUIVER_PROFILE !== undefined) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 1000 });
  // After the modules are loaded, which is a second of work that no client asks for.
  setImmediate(() => session.post('Profiler.start'));
  process.once('exit', () =>
    session.post('Profiler.stop', (_error, found) =>
      writeFileSync(process.env.QUIVER_PROFILE, JSON.stringify(found.profile)),
    ),
  );
}
