const { writeSync } = require('node:fs');

/** A test file that blocks its own thread can't be stopped by Jest's time limits. This names it and ends the run. */
const LIMIT_MINUTES = 30;

module.exports = class HangingTestReporter {
  /** @type {Map<string, NodeJS.Timeout>} */
  timers = new Map();

  /** @param {{ path: string }} test */
  onTestFileStart({ path }) {
    const end = () => {
      // Written directly, not through Jest's buffer, which nobody flushes any more.
      writeSync(1, `${path} has run for ${LIMIT_MINUTES} minutes and does not end: the run stops here\n`);
      process.exit(1);
    };
    this.timers.set(path, setTimeout(end, LIMIT_MINUTES * 60_000).unref());
  }

  /** @param {{ path: string }} test */
  onTestFileResult({ path }) {
    clearTimeout(this.timers.get(path));
    this.timers.delete(path);
  }
};
