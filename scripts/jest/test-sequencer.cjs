const { relative } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * Seconds that a file takes by the start of its path, roughly and only for the order, and whether it mostly waits: for
 * processes, and for what they let pass.
 */
const KINDS = [
  { start: 'test/fault/cluster/lose-etcd', seconds: 65, waits: true },
  { start: 'test/fault/cluster/lose-data', seconds: 45, waits: true },
  { start: 'test/fault/cluster/lose-nodes', seconds: 42, waits: true },
  { start: 'test/fault/cluster/lose-coordinators', seconds: 38, waits: true },
  { start: 'test/fault/cluster/cut-off', seconds: 37, waits: true },
  { start: 'test/integration/cluster-secret', seconds: 35, waits: true },
  { start: 'test/fault/cluster/part-nodes', seconds: 32, waits: true },
  { start: 'test/integration/api-cluster', seconds: 30, waits: true },
  { start: 'test/integration/bench', seconds: 30, waits: true },
  { start: 'test/fault/cluster/roll-versions', seconds: 24, waits: true },
  { start: 'test/fault/embedded-histories', seconds: 22, waits: true },
  { start: 'test/integration/etcd-sessions', seconds: 22, waits: true },
  { start: 'test/fault/cluster/', seconds: 18, waits: true },
  { start: 'test/integration/api-embedded', seconds: 18, waits: true },
  { start: 'test/integration/embedding-models', seconds: 17, waits: true },
  { start: 'test/integration/cluster-tls', seconds: 15, waits: true },
  { start: 'test/integration/api-defences', seconds: 16, waits: false },
  { start: 'test/integration/http-threads', seconds: 16, waits: false },
  { start: 'test/integration/shard-copy', seconds: 16, waits: false },
  { start: 'test/integration/', seconds: 8, waits: true },
  { start: 'test/fault/native-races', seconds: 35, waits: false },
  { start: 'test/fault/shard-faults', seconds: 14, waits: true },
  { start: 'test/fault/damaged-vector-files', seconds: 13, waits: false },
  { start: 'test/fault/process-crash', seconds: 12, waits: true },
  { start: 'test/fault/', seconds: 6, waits: true },
  { start: 'test/unit/node/engine/vector/vector-graph', seconds: 25, waits: false },
  { start: 'test/fuzz/', seconds: 20, waits: false },
  { start: 'test/simulation/replication', seconds: 16, waits: false },
  { start: 'test/property/http-fuzz', seconds: 8, waits: false },
  { start: 'test/unit/node/engine/shard/reading/shard-views', seconds: 8, waits: false },
  { start: 'test/unit/node/hosting/replicas/node-agent', seconds: 8, waits: true },
  { start: 'test/property/', seconds: 4, waits: false },
  { start: 'test/chart/', seconds: 3, waits: false },
  { start: 'test/contract/', seconds: 3, waits: false },
];

/**
 * The order in which test files start. Left alone, Jest goes by what it measured at its last run, which a fresh clone
 * and continuous integration lack. What starts processes mostly waits for them, so it overlaps with what computes: of
 * three workers, two shall have the one and one the other, as long as there is both. The longest start first, so that
 * none is left over at the end.
 */
module.exports = class TestSequencer extends Sequencer {
  /**
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   */
  sort(tests) {
    const files = tests.map(fileOf).sort((a, b) => b.seconds - a.seconds || (a.path < b.path ? -1 : 1));
    const waiting = files.filter(({ waits }) => waits);
    const computing = files.filter(({ waits }) => !waits);
    const order = [];
    let [waitedS, computedS, at] = [0, 0, 0];
    for (const file of waiting) {
      for (; at < computing.length && 2 * computedS < waitedS; at++) {
        order.push(computing[at].test);
        computedS += computing[at].seconds;
      }
      order.push(file.test);
      waitedS += file.seconds;
    }
    return [...order, ...computing.slice(at).map(({ test }) => test)];
  }
};

/** @param {import('@jest/test-result').Test} test */
function fileOf(test) {
  const path = relative(test.context.config.rootDir, test.path).replaceAll('\\', '/');
  const { seconds, waits } = KINDS.find(({ start }) => path.startsWith(start)) ?? { seconds: 1, waits: false };
  return { test, path, seconds, waits };
}
