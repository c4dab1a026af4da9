import type { IndexFactories } from '../../../../../node/engine/shard/shard-indexes';
import { Bm25KeywordIndex } from '../../../../../node/engine/keyword/bm25-keyword-index';
import type { ShardSpec, WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import type { Analyser } from '../../../../../shared/base/text/analyser';
import { NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../../../../support/shards/shard-node';

/** Texts are analysed when they are written; a restart takes their terms from the checkpoint. */

const SPEC: ShardSpec = { collectionUid: 'restarts', shard: 0, dim: 1, metric: 'ip', language: 'en' };
const analysed: string[] = [];

/** The analyser of a shard, noting what it is asked to analyse. */
function noting(analyser: Analyser): Analyser {
  const { name, version } = analyser;
  return {
    name,
    version,
    terms: (text) => {
      analysed.push(text);
      return analyser.terms(text);
    },
    parts: (text) => {
      analysed.push(text);
      return analyser.parts(text);
    },
    placedParts: (text) => analyser.placedParts(text),
    termsToFind: (text) => analyser.termsToFind(text),
  };
}

const factories: IndexFactories = {
  ...plainFactories,
  loadKeywordIndex: async (bytes, given) => {
    const analyser = noting(given);
    return bytes === null ? new Bm25KeywordIndex({ analyser }) : Bm25KeywordIndex.load(bytes, { analyser });
  },
};

const item = (id: string, text: string): WriteOperation => ({
  type: 'upsert',
  externalId: id,
  vector: Float32Array.of(1),
  stamp: 1,
  metadata: undefined,
  text,
});

async function found(node: ShardNode, term: string): Promise<string[]> {
  const statistics = await node.client.read(SPEC, 'keywordStatistics', { terms: [term] }, NO_HURRY);
  const hits = await node.client.read(
    SPEC,
    'keywordSearch',
    { terms: [term], statistics, k: 10, filter: null },
    NO_HURRY,
  );
  return hits.map(({ externalId }) => externalId);
}

test('a restart analyses only what was written after the checkpoint', async () => {
  const node = await new ShardNode({ factories, openStore: openRocksStore }).start();
  const copy = new ShardNode({ factories, openStore: openRocksStore, folder: node.folder });
  try {
    await node.client.make(SPEC);
    await node.client.write(SPEC, [item('a', 'running shoes'), item('b', 'a runner')], NO_HURRY);
    expect(analysed.splice(0)).toEqual(['running shoes', 'a runner']);

    await node.restart();
    await node.client.make(SPEC);
    expect(analysed).toEqual([]);
    expect(await found(node, 'run')).toEqual(['a']);

    // Reopened from its records without a new checkpoint, as after a crash.
    await node.client.write(SPEC, [item('c', 'runs')], NO_HURRY);
    analysed.length = 0;
    await (await node.host.shard(SPEC)).close('reopened');
    await copy.start();
    await copy.client.make(SPEC);
    expect(analysed.splice(0)).toEqual(['runs']);
    expect(await found(copy, 'run')).toEqual(['c', 'a']);
  } finally {
    await copy.stop();
    await node.destroy();
  }
});

test('a shard is not opened as one of another language', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openRocksStore }).start();
  try {
    await node.client.make(SPEC);
    await node.restart();
    const { language: _language, ...without } = SPEC;
    await expect(node.client.make(without)).rejects.toMatchObject({ kind: 'storage_failed' });
    await expect(node.client.make({ ...SPEC, language: 'de' })).rejects.toMatchObject({ kind: 'storage_failed' });
    await node.client.make(SPEC);
  } finally {
    await node.destroy();
  }
});
