const { relative } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');
const { maxWorkers } = require('../../jest.config.js');

/**
 * Seconds that a file takes on two cores beside others, by the start of its path in `test/`, roughly and only for the
 * order: of those that mostly wait, for processes and for what they let pass, and of those that compute.
 */
const WAITING = {
  'integration/api-cluster': 134,
  'fault/cluster/change-the-number-of-shards': 125,
  'integration/dashboard': 85,
  'integration/bench': 80,
  'integration/api-embedded': 79,
  'fault/cluster/lose-etcd': 78,
  'integration/dashboard-ask': 74,
  'fault/cluster/restore-into-an-empty-collection': 67,
  'fault/log-away': 53,
  'fault/lost-data': 51,
  'fault/cluster/lose-data': 46,
  'property/reembed': 45,
  'fault/cluster/lose-coordinators': 44,
  'integration/api': 44,
  'integration/command-line': 43,
  'fault/cluster/lose-the-only-replica': 40,
  'integration/document-parser': 40,
  'fault/cluster/lose-the-last-replica': 39,
  'integration/reembed-killed': 38,
  'fault/cluster/lose-nodes-for-a-while': 37,
  'fault/fault-matrix': 36,
  'integration/documents-killed': 35,
  'fault/cluster/cut-off-a-node': 34,
  'fault/cluster/hang-a-disk': 33,
  'integration/dashboard-lab': 33,
  'integration/point-in-time': 33,
  'fault/cluster/part-nodes': 32,
  'integration/cluster-secret': 32,
  'property/restore-into-empty': 30,
  'integration/path-prefix': 29,
  'fault/cluster/roll-versions': 28,
  'unit/coordinator/jobs/restore/restore-into-empty': 27,
  'integration/http2': 26,
  'integration/etcd-sessions': 24,
  'integration/hostile-backup-target': 24,
  'integration/waiting-answers': 24,
  'property/reshard': 24,
  'fault/embedded-histories': 23,
  'integration/cluster-tls': 23,
  'integration/command-line-import': 23,
  'integration/docs-page': 23,
  'integration/reindex-killed': 23,
  'integration/shard-copy': 23,
  'fault/backup-histories': 22,
  'fault/cluster/start-without-a-node': 21,
  'fault/cluster/use-a-name-twice': 21,
  'integration/backups': 21,
  'fault/cluster/read-from-followers': 20,
  'fault/side-services': 20,
  'fault/cluster/lose-an-upload': 19,
  'integration/etcd-cluster-store': 19,
  'fault/cluster/lose-an-etcd-member': 18,
  'integration/aliases-cluster': 17,
  'unit/coordinator/jobs/backup/backup-driver': 17,
  'fault/cluster/go-on-by-cursors': 16,
  'fault/shard-crash': 16,
  'fault/target-away': 16,
  'integration/large-answers': 16,
  'integration/read-connections': 16,
  'unit/shared/base/process/process-life-cycle': 16,
  'fault/cluster/roll-out-the-chart': 15,
  'integration/migrate': 15,
  'integration/rpc-flow': 15,
  'fault/cluster/alter-a-record': 14,
  'fault/large-writes': 14,
  'fault/shard-faults': 14,
  'integration/reshard-outrun': 14,
  'contract/remote-shard-client': 13,
  'fault/resting-crash': 13,
  'fault/output-away': 12,
  'fault/process-crash-while-restoring': 12,
  'integration/disaster': 12,
  'integration/embedding-models': 12,
  'integration/expiring-items-cluster': 12,
  'integration/metrics': 12,
  'fault/cluster/fill-a-disk': 11,
  'integration/serving-threads': 11,
  'fault/lost-replicas': 10,
  'fault/process-crash': 10,
  'fault/cluster/': 10,
  'unit/shared/base/process/': 8,
  'fault/': 6,
  'integration/': 5,
};
const COMPUTING = {
  'fault/native-races': 76,
  'property/keyword-language': 58,
  'simulation/replication': 42,
  'fuzz/fuzz': 39,
  'property/field-analysers': 36,
  'property/tied-scores': 36,
  'integration/api-defences': 32,
  'simulation/restoring': 29,
  'integration/http-threads': 23,
  'property/keyword-index': 23,
  'contract/vector-index': 22,
  'property/one-field-analyser': 20,
  'unit/node/engine/vector/vector-graph': 20,
  'simulation/resharding': 19,
  'property/boosted-search': 18,
  'unit/node/engine/vector/disk-vector-index': 17,
  'unit/node/engine/vector/signs': 17,
  'contract/filter-index': 15,
  'property/search-cursors': 14,
  'fault/damaged-vector-files': 12,
  'integration/fast-path-requests': 12,
  'property/search-legs': 12,
  'unit/coordinator/api/metrics/process-audit': 11,
  'integration/oversized-files': 10,
  'property/': 4,
  'contract/': 3,
  'chart/': 3,
};

/**
 * The order in which test files start. Left alone, Jest goes by what it measured at its last run, which a fresh clone
 * and continuous integration lack. What starts processes mostly waits for them, so it overlaps with what computes: one
 * worker shall compute while all others wait, as long as there is both. The longest start first, so that none
 * is left over at the end.
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
      for (; at < computing.length && (maxWorkers - 1) * computedS < waitedS; at++) {
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
