/**
 * Unit, contract and property tests that together take less than a minute on two cores: what `npm run test:fast` runs.
 */
const FOLDERS = ['unit', 'contract', 'property'];

/**
 * Left out is what needs more than Node and the addons, and what takes more than five seconds of a processor alone,
 * each with what it does meanwhile.
 */
const SLOW = {
  'test/contract/etcd-cluster-store': 'needs etcd',
  'test/contract/filter-index': 'sizes at which orders, columns and bitmaps come into play',
  'test/contract/vector-index.test': 'builds graphs, with the kernels of every processor',
  'test/property/filter-index': 'thousands of random filters beside a plain second version',
  'test/property/history-checker': 'thousands of simulated histories',
  'test/property/http-fuzz': 'thousands of random requests, to a real process too',
  'test/property/inline-search': 'threads that search a shard while thousands of its items change',
  'test/property/keyword-index': 'random corpora beside a plain second version',
  'test/property/moments':
    'lives of collections with reshards, backups and restores on a real disk, and a restore of each moment that is looked at',
  'test/property/restore-into-empty':
    'restores into a collection beside its clients, with drivers that are replaced and a process that starts again',
  'test/property/shard-model': 'random lives of a shard on a real disk',
  'test/property/text-cost': 'times every analyser over texts of growing length',
  'test/unit/coordinator/jobs/restore/restore-into-empty': 'some twenty restores of shards on a real disk',
  'test/unit/coordinator/service/documents/chunk': 'cuts texts of megabytes',
  'test/unit/helm/files/monitoring-files': 'promtool plays the story of every alert',
  'test/unit/node/engine/vector/vector-graph': 'builds graphs large enough for recall to mean something',
};

/** @param {string} path of a test file from the root of the repository */
function isFast(path) {
  return (
    FOLDERS.some((folder) => path.startsWith(`test/${folder}/`)) &&
    !Object.keys(SLOW).some((name) => path.startsWith(name))
  );
}

module.exports = { FOLDERS, SLOW, isFast };
