import { DEAD_SHARE_MAX, GRAPH_ROWS_MIN, nextStep } from '../../../../node/vector/maintenance';
import type { NativeStatus } from '../../../../node/vector/native-binding';

const status = (given: Partial<NativeStatus>): NativeStatus => ({
  rows: 0,
  live: given.rows ?? 0,
  graphRows: 0,
  graphDead: 0,
  effortAt10: 64,
  effortAt100: 128,
  effortRows: given.graphRows ?? 0,
  damaged: 0,
  memoryBytes: 0,
  originals: 'originals-1.f32',
  ...given,
});

test('few rows need no graph, however long they wait', () => {
  expect(nextStep(status({ rows: GRAPH_ROWS_MIN - 1 }), true)).toEqual({ type: 'nothing' });
});

test('the first graph takes all rows there are', () => {
  expect(nextStep(status({ rows: GRAPH_ROWS_MIN }), false)).toEqual({ type: 'extend', rows: GRAPH_ROWS_MIN });
});

test('a graph without a calibration is calibrated before it grows on', () => {
  expect(nextStep(status({ rows: 90_000, graphRows: 20_000, effortRows: 0 }), false)).toEqual({ type: 'calibrate' });
});

test('a graph that grew by half is calibrated again; later, while a backlog waits', () => {
  expect(nextStep(status({ rows: 30_100, graphRows: 30_000, effortRows: 20_000 }), false)).toEqual({ type: 'calibrate' });
  expect(nextStep(status({ rows: 30_000, graphRows: 29_000, effortRows: 20_000 }), false).type).toBe('extend');
  expect(nextStep(status({ rows: 90_000, graphRows: 30_000, effortRows: 20_000 }), false).type).toBe('extend');
  expect(nextStep(status({ rows: 90_000, graphRows: 60_000, effortRows: 20_000 }), false)).toEqual({ type: 'calibrate' });
});

test('growing rows gather while puts go on, and are taken in when they pause', () => {
  const state = status({ rows: 100_500, graphRows: 100_000 });
  expect(nextStep(state, false)).toEqual({ type: 'nothing' });
  expect(nextStep(state, true)).toEqual({ type: 'extend', rows: 500 });
  expect(nextStep(status({ rows: 100_020, graphRows: 100_000 }), true)).toEqual({ type: 'nothing' });
});

test('a long backlog is taken in steps of half the graph', () => {
  expect(nextStep(status({ rows: 900_000, graphRows: 100_000 }), false)).toEqual({ type: 'extend', rows: 50_000 });
  expect(nextStep(status({ rows: 900_000, graphRows: 12_000 }), false)).toEqual({ type: 'extend', rows: GRAPH_ROWS_MIN });
});

test('many dead rows are compacted away, in the graph or beside it', () => {
  const graphRows = 40_000;
  const dead = graphRows * DEAD_SHARE_MAX + 1;
  expect(nextStep(status({ rows: graphRows, live: graphRows - dead, graphRows, graphDead: dead }), false)).toEqual({ type: 'compact' });
  expect(nextStep(status({ rows: graphRows, live: graphRows - dead + 2, graphRows, graphDead: dead - 2 }), false)).toEqual({ type: 'nothing' });
  expect(nextStep(status({ rows: 30_000, live: 9_000 }), false)).toEqual({ type: 'compact' });
});

test('what a compaction leaves is at rest', () => {
  for (const live of [0, 100, GRAPH_ROWS_MIN - 1]) expect(nextStep(status({ rows: live }), true)).toEqual({ type: 'nothing' });
  expect(nextStep(status({ rows: 20_000, graphRows: 20_000 }), true)).toEqual({ type: 'nothing' });
});

test('small collections that are rewritten over and over are compacted now and then', () => {
  let rows = 0;
  let compactions = 0;
  for (let put = 0; put < 200_000; put += 100) {
    rows += 100;
    if (nextStep(status({ rows, live: Math.min(rows, 1000) }), false).type === 'compact') {
      rows = 1000;
      compactions++;
    }
  }
  expect(compactions).toBeGreaterThan(5);
  expect(compactions).toBeLessThan(40);
});
