// What `quiver try` starts (cli/commands/try-command.ts): the service over a folder that is made for it, DATA_DIR, and
// goes with it. It ends when whoever started it does, however that ends: then standard input is closed.
const { rmSync } = require('node:fs');
const { become } = require('./quiver.cjs');

const folder = /** @type {string} */ (process.env.DATA_DIR);

// It is no reason to stay: a start that is refused ends by itself.
process.stdin
  .on('end', () => process.kill(process.pid, 'SIGTERM'))
  .resume()
  .unref();
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
become('embedded');
