// One candidate in a process of its own: carries out what the parent sends, one command at a time, and answers it.
import * as speed from './speed.mjs';
import * as states from './states.mjs';

const [adapter, options] = process.argv.slice(2);
const COMMANDS = { ...speed, ...states };

const { open } = await import(`./adapters/${adapter}.mjs`);
const opened = (folder, more) => open(folder, { ...JSON.parse(options), ...more });

async function run({ command, words }) {
  try {
    process.send({ result: await COMMANDS[command]({ open: opened, adapter, ...words }) });
  } catch (error) {
    process.send({
      error: error.cause === undefined ? error.message : `${error.message} (${error.cause.message ?? error.cause})`,
    });
  }
}

process.on('message', (/** @type {any} */ message) => void run(message));
// A benchmark that was stopped leaves no process behind.
process.on('disconnect', () => process.exit());
process.send({ result: 'ready' });
