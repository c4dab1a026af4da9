/** Unit, contract and property tests that together take less than a minute on two cores: what `npm run test:fast` runs. */
const FOLDERS = ['unit', 'contract', 'property'];

/**
 * Left out is what needs more than Node and the addons, and what takes more than five seconds of a processor alone, each
 * with what it does meanwhile.
 */
const SLOW = {
  'test/contract/etcd-cluster-store': 'needs etcd',
  'test/contract/filter-index': 'sizes at which orders, columns and bitmaps come into play',
  'test/contract/vector-index.test': 'builds graphs, with the kernels of every processor',
  'test/property/analyser': 'random texts of every script beside a plain second version',
  'test/property/chunk': 'the same chunks however a text is parted',
  'test/property/directory': 'random lives of a directory with saves in between',
  'test/property/filter-index': 'thousands of random filters beside a plain second version',
  'test/property/history-checker': 'thousands of simulated histories',
  'test/property/http-fuzz': 'thousands of random requests, to a real process too',
  'test/property/inline-search': 'threads that search a shard while thousands of its items change',
  'test/property/keyword-index': 'random corpora beside a plain second version',
  'test/property/operation-codec': 'thousands of random writes there and back, and damaged ones',
  'test/property/rate-limiter': 'a minute of admissions beside a plain list, thousands of times',
  'test/property/shard-model': 'random lives of a shard on a real disk',
  'test/property/slot-set': 'sets of all densities beside plain ones',
  'test/property/text-cost': 'times every analyser over texts of growing length',
  'test/unit/coordinator/documents/chunk': 'cuts texts of 10 MB',
  'test/unit/coordinator/limits/limits': 'a limit of a million, and a flood of subjects',
  'test/unit/helm/files/monitoring-files': 'promtool plays the story of every alert',
  'test/unit/shared/tables/number-table': 'what V8 keeps of a table after full collections',
  'test/unit/coordinator/embedding/transformers/text-queue': 'thousands of texts through the queue, looked at one by one',
  'test/unit/node/vector/vector-graph': 'builds graphs large enough for recall to mean something',
  'test/unit/coordinator/vectors/vectors-service': 'thousands of items through shards made of plain maps',
};

/** @param {string} path of a test file from the root of the repository */
function isFast(path) {
  return FOLDERS.some((folder) => path.startsWith(`test/${folder}/`)) && !Object.keys(SLOW).some((name) => path.startsWith(name));
}

module.exports = { FOLDERS, SLOW, isFast };
