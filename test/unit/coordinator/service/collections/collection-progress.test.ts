import { collectionProgress } from '../../../../../coordinator/service/collections/collection-progress';
import type { IndexProgress } from '../../../../../shared/contract/shard/shard-read';

const READY: IndexProgress = {
  state: 'ready',
  rows: 100,
  indexedRows: 90,
  refinedRows: 90,
  secondsLeft: 0,
  optimizing: false,
};
const BUSY: IndexProgress = {
  state: 'refining',
  rows: 100,
  indexedRows: 100,
  refinedRows: 20,
  secondsLeft: 8,
  optimizing: true,
};

test('shards are counted together, and the one that is farthest behind tells the state and the time left', () => {
  expect(collectionProgress([READY, BUSY])).toEqual({
    state: 'refining',
    rows: 200,
    indexedRows: 190,
    refinedRows: 110,
    fraction: 0.75,
    secondsLeft: 8,
    optimizing: true,
  });
  expect(collectionProgress([BUSY, { ...BUSY, state: 'indexing', secondsLeft: null }])).toMatchObject({
    state: 'indexing',
    secondsLeft: null,
  });
});

test('all is done when every shard is ready, though some rows are scanned', () => {
  expect(collectionProgress([READY, READY])).toMatchObject({ state: 'ready', fraction: 1, secondsLeft: 0 });
});

test('a node of an earlier version does not tell', () => {
  expect(collectionProgress([null, BUSY])).toMatchObject({ state: 'refining', rows: 100 });
  expect(collectionProgress([null])).toEqual({
    state: 'ready',
    rows: 0,
    indexedRows: 0,
    refinedRows: 0,
    fraction: 1,
    secondsLeft: 0,
    optimizing: false,
  });
});
