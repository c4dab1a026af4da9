const { relative } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Seconds that a file takes by the start of its path, roughly and only for the order, and whether it mostly waits for processes. */
const KINDS = [
  { start: 'test/fault/cluster/lose-data', seconds: 90, waits: true },
  { start: 'test/fault/cluster/lose-etcd', seconds: 90, waits: true },
  { start: 'test/fault/cluster/roll-versions', seconds: 70, waits: true },
  { start: 'test/integration/api-', seconds: 60, waits: true },
  { start: 'test/integration/etcd-', seconds: 50, waits: true },
  { start: 'test/fault/cluster/', seconds: 30, waits: true },
  { start: 'test/integration/', seconds: 15, waits: true },
  { start: 'test/fault/native-races', seconds: 40, waits: false },
  { start: 'test/fault/', seconds: 10, waits: true },
  { start: 'test/unit/node/vector/vector-graph', seconds: 20, waits: false },
  { start: 'test/fuzz/', seconds: 30, waits: false },
  { start: 'test/simulation/', seconds: 20, waits: false },
  { start: 'test/property/', seconds: 6, waits: false },
  { start: 'test/chart/', seconds: 4, waits: false },
  { start: 'test/contract/', seconds: 4, waits: false },
];

/**
 * The order in which test files start. Left alone, Jest goes by what it measured at its last run, which a fresh clone and
 * continuous integration lack. What starts processes mostly waits for them, so it overlaps with what computes: of three
 * workers, two shall have the one and one the other, as long as there is both. The longest start first, so that none is
 * left over at the end.
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
