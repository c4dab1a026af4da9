import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PEER_NAMES, candidatesFrom } from './store/candidates.mjs';
import { measureSetup } from './store/setup-cost.mjs';
import { formatNodes, formatSetup, formatSpeeds, formatStates } from './store/store-report.mjs';
import { tryNodes, tryStates } from './store/trials.mjs';
import { measureSpeeds } from './store/turns.mjs';
import { writeFigures } from './figures-file.mjs';

export const STORE_USAGE = `npm run bench -- store [options]

Stores that records could be kept in, each in a process of its own, in turns.

  --store NAME       may be repeated, ratios are to the first that works; all of them otherwise:
                     ${PEER_NAMES.join(', ')}, quiver (the store of this checkout);
                     NAME=FOLDER is the store of another checkout that has been set up
  --part NAME        may be repeated: speed, states (memory, logs, damage, threads), setup (what npm fetches), nodes
                     (when --node is given); speed and states otherwise
  --rows N           records of 2.0 to 3.3 KB that are read (100000)
  --rounds N         of speed (15); --ms N  of one measure (200); --state-rounds N (3)
  --databases N      open at once (300)
  --node FILE        a Node binary to try each store on, may be repeated
  --folder FOLDER    where databases are put (the system's folder for temporary files)
  --json FILE        everything measured, as JSON
`;

const PARTS = ['speed', 'states', 'setup', 'nodes'];

export async function storeBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      store: { type: 'string', multiple: true, default: [...PEER_NAMES, 'quiver'] },
      part: { type: 'string', multiple: true, default: ['speed', 'states'] },
      rows: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '15' },
      ms: { type: 'string', default: '200' },
      'state-rounds': { type: 'string', default: '3' },
      databases: { type: 'string', default: '300' },
      node: { type: 'string', multiple: true, default: [] },
      folder: { type: 'string', default: tmpdir() },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(STORE_USAGE);
    return;
  }
  const unknown = values.part.filter((part) => !PARTS.includes(part));
  if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}\n\n${STORE_USAGE}`);
  const candidates = candidatesFrom(values.store);
  const databases = Number(values.databases);
  const folder = mkdtempSync(join(values.folder, 'quiver-bench-store-'));
  const log = (line) => process.stderr.write(`${line}\n`);
  const measured = {};
  try {
    if (values.part.includes('setup')) {
      measured.setup = measureSetup({ candidates, folder, log });
      process.stdout.write(`\n${formatSetup(measured.setup)}`);
    }
    if (values.node.length > 0) {
      measured.nodes = await tryNodes({ candidates, folder, nodes: values.node, log });
      process.stdout.write(`\n${formatNodes(measured.nodes, values.node)}`);
    }
    if (values.part.includes('speed')) {
      measured.speeds = await measureSpeeds({
        candidates,
        folder,
        rows: Number(values.rows),
        rounds: Number(values.rounds),
        ms: Number(values.ms),
        log,
      });
      process.stdout.write(`\n${formatSpeeds(measured.speeds)}`);
    }
    if (values.part.includes('states')) {
      measured.states = await tryStates({ candidates, folder, databases, rounds: Number(values['state-rounds']), log });
      process.stdout.write(`\n${formatStates(measured.states, databases)}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (values.json !== undefined) {
    writeFigures(values.json, measured);
  }
}
