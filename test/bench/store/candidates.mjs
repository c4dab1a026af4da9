import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const OWN_DIST = fileURLToPath(new URL('../../../dist', import.meta.url));

/** The binding that the product began with: its folders are what the others have to open. */
const FORMER = 'rocksdb';

/**
 * Every store by name: the file of its adapter and what that is opened with. `replays` names whose log it is given to
 * replay: RocksDB's bindings that of the former one, as in an upgrade.
 */
const PEERS = {
  rocksdb: { adapter: 'rocksdb-5', replays: FORMER },
  nxtedition: { adapter: 'nxtedition', replays: FORMER },
  'rocksdb-native': { adapter: 'rocksdb-native', replays: FORMER },
  'classic-level': { adapter: 'classic-level', replays: 'classic-level' },
  lmdb: { adapter: 'lmdb', replays: null },
};

/**
 * The candidates that `names` asks for: peers, or "quiver" (the store of this checkout) or "quiver=FOLDER" and
 * "NAME=FOLDER" (that of another checkout, which has been set up).
 */
export function candidatesFrom(names) {
  return names.map((word) => {
    const [name, checkout] = word.split('=');
    if (checkout !== undefined || name === 'quiver') {
      return {
        name,
        adapter: 'quiver',
        replays: FORMER,
        options: { dist: checkout === undefined ? OWN_DIST : resolve(checkout, 'dist') },
      };
    }
    if (!(name in PEERS))
      throw new Error(`no store ${name}: there are ${Object.keys(PEERS).join(', ')}, quiver and NAME=CHECKOUT`);
    return { name, options: {}, ...PEERS[name] };
  });
}

export const PEER_NAMES = Object.keys(PEERS);
