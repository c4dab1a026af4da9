// `npm run cluster`: a whole cluster on this machine: etcd, storage nodes and coordinators, each a process with its own
// data folder. A process that dies is started again; Ctrl-C stops everything in order, and so does the end
// of its terminal.
import { parseArgs } from 'node:util';
import { LocalCluster } from './local-cluster.mjs';
import { setUpOrExit } from './setup.mjs';
import { ensureEtcdOrExit } from './make/system-packages.mjs';

const USAGE = `npm run cluster -- [options]

  --nodes N          storage nodes (3)
  --coordinators N   coordinators (2)
  --replicas N       replicas of a new collection that names none (2, or as many as there are nodes)
  --shards N         shards of a new collection that names none (as many as there are nodes)
  --port P           port of the first coordinator's API, the others follow (8000); the ports of the other
                     processes are P + 100 and up
  --dir FOLDER       where everything is stored (data/cluster)
  --no-restart       leave a process that died as it is
Other settings come from the environment, as for a single process; API_KEY unset, one is made and kept in FOLDER.
`;

/**
 * @param {Record<string, unknown>} values
 * @param {string} name
 * @param {number} minimum
 * @param {number} maximum
 */
function integer(values, name, minimum, maximum) {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < minimum || number > maximum)
    throw new Error(`--${name} must be an integer from ${minimum} to ${maximum}\n\n${USAGE}`);
  return number;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '3' },
      coordinators: { type: 'string', default: '2' },
      replicas: { type: 'string' },
      shards: { type: 'string' },
      port: { type: 'string', default: '8000' },
      dir: { type: 'string', default: 'data/cluster' },
      'no-restart': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const nodes = integer(values, 'nodes', 1, 64);
  return {
    nodes,
    coordinators: integer(values, 'coordinators', 1, 64),
    replicas: values.replicas === undefined ? Math.min(2, nodes) : integer(values, 'replicas', 1, 5),
    shards: values.shards === undefined ? nodes : integer(values, 'shards', 1, 256),
    port: integer(values, 'port', 1, 64_000),
    folder: values.dir,
    restarts: !values['no-restart'],
  };
}

async function main() {
  const options = readOptions();
  if (options === null) {
    process.stdout.write(USAGE);
    return;
  }
  // Whether somebody reads what is said here is nothing to the cluster.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  await setUpOrExit();
  await ensureEtcdOrExit();
  const cluster = new LocalCluster({ ...options, log: (line) => console.log(line) });
  let isStopping = false;
  const stop = () => {
    // npm forwards a Ctrl-C that the terminal has sent already.
    if (isStopping) return;
    isStopping = true;
    console.log('stopping');
    cluster.stop().then(
      () => process.exit(0),
      (error) => {
        console.error(error.message);
        process.exit(1);
      },
    );
  };
  // SIGHUP: its terminal goes away.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
  // Whatever ends this process, none of the others stays behind.
  process.on('exit', () => cluster.signalAll());
  await cluster.start().catch(async (error) => {
    console.error(error.message);
    await cluster.stop();
    process.exit(1);
  });
  if (isStopping) return;
  console.log(cluster.describe());
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
