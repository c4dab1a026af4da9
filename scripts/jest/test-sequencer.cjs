const { relative } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * Seconds that a file takes on two cores beside others, by the start of its path in `test/`, roughly and only for the
 * order: of those that mostly wait, for processes and for what they let pass, and of those that compute.
 */
const WAITING = {
  'fault/cluster/change-the-number-of-shards': 98,
  'integration/api-cluster': 96,
  'integration/api-embedded': 86,
  'integration/bench': 85,
  'integration/dashboard': 83,
  'fault/cluster/lose-etcd': 72,
  'fault/log-away': 70,
  'fault/lost-data': 65,
  'fault/cluster/restore-into-an-empty-collection': 63,
  'fault/cluster/lose-data': 53,
  'fault/fault-matrix': 47,
  'unit/coordinator/jobs/restore/restore-into-empty': 44,
  'integration/point-in-time': 43,
  'fault/cluster/lose-coordinators': 43,
  'integration/command-line': 42,
  'fault/cluster/lose-the-only-replica': 39,
  'fault/cluster/hang-a-disk': 39,
  'fault/cluster/lose-the-last-replica': 37,
  'fault/cluster/roll-versions': 37,
  'fault/cluster/lose-nodes-for-a-while': 36,
  'integration/cluster-secret': 34,
  'fault/cluster/part-nodes': 33,
  'fault/cluster/cut-off-a-node': 32,
  'integration/path-prefix': 30,
  'integration/command-line-import': 29,
  'integration/http2': 28,
  'integration/hostile-backup-target': 28,
  'contract/shard-client': 23,
  'fault/backup-histories': 23,
  'integration/backups': 23,
  'integration/etcd-sessions': 23,
  'fault/embedded-histories': 22,
  'integration/reindex-killed': 21,
  'fault/cluster/use-a-name-twice': 21,
  'integration/cluster-tls': 20,
  'integration/etcd-cluster-store': 20,
  'fault/cluster/lose-an-upload': 20,
  'fault/cluster/read-from-followers': 20,
  'integration/read-connections': 18,
  'integration/rpc-flow': 18,
  'fault/cluster/lose-an-etcd-member': 18,
  'fault/cluster/start-without-a-node': 18,
  'unit/coordinator/jobs/backup/backup-driver': 17,
  'fault/shard-faults': 17,
  'contract/remote-shard-client': 17,
  'integration/large-answers': 16,
  'fault/shard-crash': 15,
  'integration/migrate': 15,
  'fault/cluster/roll-out-the-chart': 15,
  'fault/cluster/fill-a-disk': 14,
  'fault/side-services': 14,
  'fault/target-away': 14,
  'fault/cluster/long-calls': 13,
  'integration/docs-page': 13,
  'fault/resting-crash': 13,
  'integration/waiting-answers': 13,
  'fault/process-crash-while-restoring': 13,
  'unit/shared/base/process/process-life-cycle': 12,
  'integration/expiring-items-cluster': 12,
  'integration/disaster': 12,
  'unit/shared/base/process/': 8,
  'unit/node/hosting/replicas/node-agent': 8,
  'fault/cluster/': 10,
  'integration/': 5,
  'fault/': 6,
};
const COMPUTING = {
  'simulation/restoring': 75,
  'fault/native-races': 55,
  'property/keyword-language': 50,
  'fuzz/fuzz': 41,
  'property/restore-into-empty': 35,
  'unit/node/engine/vector/vector-graph': 31,
  'integration/api-defences': 29,
  'contract/filter-index': 26,
  'simulation/replication': 25,
  'property/tied-scores': 24,
  'unit/node/engine/vector/disk-vector-index': 24,
  'contract/vector-index': 22,
  'property/keyword-index': 21,
  'integration/http-threads': 20,
  'unit/node/engine/vector/signs': 20,
  'unit/node/engine/shard/reading/shard-views': 18,
  'unit/coordinator/service/documents/documents': 17,
  'fault/damaged-vector-files': 16,
  'unit/node/engine/vector/vector-cells': 15,
  'property/encoded-writes': 14,
  'unit/cli/formats/record-source': 13,
  'property/': 4,
  'contract/': 3,
  'chart/': 3,
};

/**
 * The order in which test files start. Left alone, Jest goes by what it measured at its last run, which a fresh clone
 * and continuous integration lack. What starts processes mostly waits for them, so it overlaps with what computes: two
 * workers of three shall have the one and one the other, as long as there is both. The longest start first, so that
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
  const known = /** @type {const} */ ([
    [COMPUTING, false],
    [WAITING, true],
  ]).flatMap(([seconds, waits]) =>
    Object.entries(seconds).map(([start, one]) => ({ start: `test/${start}`, seconds: one, waits })),
  );
  // The longest start says most.
  const [found] = known.filter(({ start }) => path.startsWith(start)).sort((a, b) => b.start.length - a.start.length);
  return { test, path, seconds: found?.seconds ?? 1, waits: found?.waits ?? false };
}
