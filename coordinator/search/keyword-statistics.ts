import type { KeywordStatistics } from '../../shared/shard/shard-read';

/** The statistics of a collection from those of its shards, all over the same terms. */
export function sumStatistics(shards: KeywordStatistics[]): KeywordStatistics {
  const sum: KeywordStatistics = { documentCount: 0, totalLength: 0, documentFrequencies: shards[0].documentFrequencies.map(() => 0) };
  for (const shard of shards) {
    sum.documentCount += shard.documentCount;
    sum.totalLength += shard.totalLength;
    shard.documentFrequencies.forEach((frequency, i) => (sum.documentFrequencies[i] += frequency));
  }
  return sum;
}
