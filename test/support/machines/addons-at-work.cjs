// Uses both addons: builds a graph of seeded vectors, searches it by graph and by scan, reads numbers out of a body.
// Prints one line of JSON. Run by processors.test.ts with this Node and, through an emulator, as older processors
// would.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');

const root = resolve(__dirname, '../../..');
const { VectorIndex, kernelNames } = require(join(root, 'node/engine/native/build/vectors.node'));
require(join(root, 'coordinator/api/native/build/body-scanner.node'));

const ROWS = 600;
const DIM = 48;

/** mulberry32, as test/support/values/random.ts. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-addons-'));
  const index = new VectorIndex({ metric: 'cosine', dim: DIM, originals: join(folder, 'originals') });
  const random = seeded(7);
  const vectors = Float32Array.from({ length: ROWS * DIM }, () => random() - 0.5);
  // Building a graph does not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  index.put(
    Uint32Array.from({ length: ROWS }, (_, slot) => slot),
    vectors,
  );
  await index.extend(ROWS, 1, 1);
  const query = vectors.subarray(17 * DIM, 18 * DIM);
  const [byGraph, byScan] = [
    await index.search(query, 5, 1, 200, 0, null, 0),
    await index.search(query, 5, 2, 0, 0, null, 0),
  ];
  console.log(
    JSON.stringify({
      kernels: kernelNames(),
      byGraph: [...byGraph.slots],
      byScan: [...byScan.slots],
      scores: [...byScan.scores],
    }),
  );
  clearInterval(alive);
  index.close();
  rmSync(folder, { recursive: true, force: true });
}

void main();
