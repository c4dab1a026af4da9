import {
  CELL_ROWS_MIN,
  DEAD_SHARE_MAX,
  GRAPH_ROWS_MIN,
  type MaintenanceStep,
  isOptimized,
  nextStep,
  type Optimization,
  rowsThatWait,
} from '../../../../../node/engine/vector/maintenance';
import type { NativeStatus } from '../../../../../node/engine/vector/native-binding';

const status = (given: Partial<NativeStatus>): NativeStatus => ({
  rows: 0,
  live: given.rows ?? 0,
  graphRows: 0,
  graphDead: 0,
  refinedRows: given.graphRows ?? 0,
  deviations: 3,
  effortAt10: 64,
  effortAt100: 128,
  effortRows: given.graphRows ?? 0,
  cellRows: given.graphRows ?? 0,
  unsketchedRows: 0,
  damaged: 0,
  memoryBytes: 0,
  spilledBytes: 0,
  originals: 'originals-1.f32',
  ...given,
});

const next = (given: NativeStatus, idle: boolean, optimization: Optimization | null = null): MaintenanceStep =>
  nextStep(given, { idle, optimization, graphRowsMin: GRAPH_ROWS_MIN });

test('few rows need no graph, however long they wait', () => {
  expect(next(status({ rows: GRAPH_ROWS_MIN - 1 }), true)).toEqual({ type: 'nothing' });
});

test('the first graph takes all rows there are', () => {
  expect(next(status({ rows: GRAPH_ROWS_MIN }), false)).toEqual({
    type: 'extend',
    rows: GRAPH_ROWS_MIN,
    care: 'quick',
  });
});

test('a graph without a calibration is calibrated before it grows on, once no more rows wait than it has', () => {
  expect(next(status({ rows: 90_000, graphRows: 45_000, effortRows: 0 }), false)).toEqual({ type: 'calibrate' });
  expect(next(status({ rows: 90_000, graphRows: 44_999, effortRows: 0 }), false).type).toBe('extend');
});

test('a graph that grew by half is calibrated again; later, while a backlog waits', () => {
  expect(next(status({ rows: 30_100, graphRows: 30_000, effortRows: 20_000 }), false)).toEqual({ type: 'calibrate' });
  expect(next(status({ rows: 30_000, graphRows: 29_000, effortRows: 20_000 }), false).type).toBe('extend');
  expect(next(status({ rows: 90_000, graphRows: 30_000, effortRows: 20_000 }), false).type).toBe('extend');
  expect(next(status({ rows: 90_000, graphRows: 60_000, effortRows: 20_000 }), false)).toEqual({ type: 'calibrate' });
});

test('a graph that waits for its refinement is not calibrated for half its rows', () => {
  expect(next(status({ rows: 30_100, graphRows: 30_000, effortRows: 20_000, refinedRows: 0 }), false).type).toBe(
    'refine',
  );
  expect(next(status({ rows: 30_100, graphRows: 30_000, effortRows: 10_000, refinedRows: 0 }), false)).toEqual({
    type: 'calibrate',
  });
});

test('growing rows gather while puts go on, and are taken in when they pause', () => {
  const state = status({ rows: 100_500, graphRows: 100_000 });
  expect(next(state, false)).toEqual({ type: 'nothing' });
  expect(next(state, true)).toEqual({ type: 'extend', rows: 500, care: 'thorough' });
  expect(next(status({ rows: 100_020, graphRows: 100_000 }), true)).toEqual({ type: 'nothing' });
});

test('a long backlog is taken in steps of an eighth of the graph', () => {
  expect(next(status({ rows: 900_000, graphRows: 100_000 }), false)).toEqual({
    type: 'extend',
    rows: 12_500,
    care: 'quick',
  });
  expect(next(status({ rows: 900_000, graphRows: 12_000 }), false)).toEqual({
    type: 'extend',
    rows: GRAPH_ROWS_MIN,
    care: 'quick',
  });
});

test('many rows that wait get sketches before they are linked, during a load only if somebody searches', () => {
  expect(next(status({ rows: 40_000, unsketchedRows: 36_864 }), false)).toEqual({ type: 'sketch' });
  expect(next(status({ rows: 900_000, graphRows: 100_000, unsketchedRows: 16_384 }), false)).toEqual({
    type: 'sketch',
  });
  expect(next(status({ rows: 900_000, graphRows: 100_000, unsketchedRows: 16_383 }), false).type).toBe('extend');
  const loading = { idle: false, waiting: 125_000, optimization: null, graphRowsMin: GRAPH_ROWS_MIN };
  for (const graphRows of [0, 100_000]) {
    const waiting = status({ rows: graphRows + 50_000, graphRows, unsketchedRows: 49_152 });
    expect(nextStep(waiting, loading)).toEqual({ type: 'nothing' });
    expect(nextStep(waiting, { ...loading, isSearched: true })).toEqual({ type: 'sketch' });
    expect(nextStep({ ...waiting, unsketchedRows: 0 }, { ...loading, isSearched: true })).toEqual({ type: 'nothing' });
  }
});

test('a graph with very many rows before it is calibrated early, once', () => {
  expect(next(status({ rows: 960_000, graphRows: 60_000, effortRows: 0 }), false)).toEqual({ type: 'calibrate' });
  expect(next(status({ rows: 960_000, graphRows: 59_999, effortRows: 0 }), false).type).toBe('extend');
  expect(next(status({ rows: 960_000, graphRows: 400_000, effortRows: 60_000 }), false).type).toBe('extend');
  expect(next(status({ rows: 230_000, graphRows: 30_001, effortRows: 0 }), false).type).toBe('extend');
});

test('rows that were linked quickly are refined once no others wait, in steps, even while puts continue', () => {
  expect(next(status({ rows: 120_000, graphRows: 100_000, refinedRows: 0 }), false)).toEqual({
    type: 'extend',
    rows: 12_500,
    care: 'quick',
  });
  expect(next(status({ rows: 100_500, graphRows: 100_000, refinedRows: 0 }), false)).toEqual({
    type: 'refine',
    rows: 16_384,
  });
  expect(next(status({ rows: 100_500, graphRows: 100_000, refinedRows: 99_000 }), false)).toEqual({
    type: 'refine',
    rows: 1_000,
  });
});

test('few rows are linked with care at once, unless earlier ones wait for their refinement', () => {
  expect(next(status({ rows: 104_000, graphRows: 100_000 }), true)).toEqual({
    type: 'extend',
    rows: 4_000,
    care: 'thorough',
  });
  expect(next(status({ rows: 104_000, graphRows: 100_000, refinedRows: 90_000 }), true)).toEqual({
    type: 'extend',
    rows: 4_000,
    care: 'quick',
  });
  expect(next(status({ rows: 104_001, graphRows: 100_000 }), true)).toEqual({
    type: 'extend',
    rows: 4_001,
    care: 'quick',
  });
});

test('who asks for the best index gets dead rows removed, all rows into the graph, refined, and a new measure', () => {
  const asked = { rows: 100_010, compacted: false };
  const compacted = { rows: 100_000, compacted: true };
  expect(next(status({ rows: 100_010, live: 100_000, graphRows: 99_990 }), true, asked)).toEqual({ type: 'compact' });
  expect(next(status({ rows: 100_000, graphRows: 99_990 }), true, compacted)).toEqual({
    type: 'extend',
    rows: 10,
    care: 'thorough',
  });
  expect(next(status({ rows: 100_000, graphRows: 100_000, refinedRows: 99_990 }), true, compacted)).toEqual({
    type: 'refine',
    rows: 10,
  });
  expect(next(status({ rows: 100_000, graphRows: 100_000, effortRows: 90_000 }), true, compacted)).toEqual({
    type: 'calibrate',
  });
  expect(next(status({ rows: 100_000, graphRows: 100_000 }), true, compacted)).toEqual({ type: 'nothing' });
});

test('rows put after that was asked for do not keep it from ending', () => {
  const asked = { rows: 100_000, compacted: true };
  expect(next(status({ rows: 100_040, live: 100_000, graphRows: 100_000 }), true, asked)).toEqual({ type: 'nothing' });
});

test('many dead rows are compacted away, in the graph or beside it', () => {
  const graphRows = 40_000;
  const dead = graphRows * DEAD_SHARE_MAX + 1;
  expect(next(status({ rows: graphRows, live: graphRows - dead, graphRows, graphDead: dead }), false)).toEqual({
    type: 'compact',
  });
  expect(next(status({ rows: graphRows, live: graphRows - dead + 2, graphRows, graphDead: dead - 2 }), false)).toEqual({
    type: 'nothing',
  });
  expect(next(status({ rows: 30_000, live: 9_000 }), false)).toEqual({ type: 'compact' });
});

test('what a compaction leaves is at rest', () => {
  for (const live of [0, 100, GRAPH_ROWS_MIN - 1])
    expect(next(status({ rows: live }), true)).toEqual({ type: 'nothing' });
  expect(next(status({ rows: 20_000, graphRows: 20_000 }), true)).toEqual({ type: 'nothing' });
});

test('small collections that are rewritten over and over are compacted now and then', () => {
  let rows = 0;
  let compactions = 0;
  for (let put = 0; put < 200_000; put += 100) {
    rows += 100;
    if (next(status({ rows, live: Math.min(rows, 1000) }), false).type === 'compact') {
      rows = 1000;
      compactions++;
    }
  }
  expect(compactions).toBeGreaterThan(5);
  expect(compactions).toBeLessThan(40);
});

test('what was asked for is done while puts go on: rows that came later are not measured for it', () => {
  const asked: Optimization = { rows: 40_000, compacted: true };
  const grown = status({ rows: 44_020, graphRows: 44_000, effortRows: 40_000 });
  expect(next(grown, true, asked).type).not.toBe('calibrate');
  expect(isOptimized(grown, asked)).toBe(true);
  expect(next(status({ rows: 44_020, graphRows: 44_000, effortRows: 39_000 }), true, asked)).toEqual({
    type: 'calibrate',
  });
  expect(isOptimized(status({ rows: 44_020, graphRows: 44_000, effortRows: 39_000 }), asked)).toBe(false);
  expect(isOptimized(status({ rows: 44_020, graphRows: 44_000, refinedRows: 39_999, effortRows: 44_000 }), asked)).toBe(
    false,
  );
});

const duringLoad = (given: NativeStatus, waiting: number, optimization: Optimization | null = null): MaintenanceStep =>
  nextStep(given, { idle: false, waiting, optimization, graphRowsMin: GRAPH_ROWS_MIN });

test('during a load, rows wait for its end as long as they are scanned quickly', () => {
  expect(duringLoad(status({ rows: 100_000 }), 100_000)).toEqual({ type: 'nothing' });
  expect(duringLoad(status({ rows: 200_000, graphRows: 100_000 }), 100_000)).toEqual({ type: 'nothing' });
  expect(duringLoad(status({ rows: 200_000, graphRows: 100_000, refinedRows: 0, effortRows: 0 }), 100_000)).toEqual({
    type: 'nothing',
  });
  expect(next(status({ rows: 100_000 }), false)).toEqual({ type: 'extend', rows: 100_000, care: 'quick' });
});

test('more rows than may wait are taken in while the load goes on, in steps from the first on', () => {
  expect(duringLoad(status({ rows: 100_001 }), 100_000)).toEqual({ type: 'extend', rows: 12_501, care: 'quick' });
  expect(duringLoad(status({ rows: 40_001 }), 40_000)).toEqual({ type: 'extend', rows: GRAPH_ROWS_MIN, care: 'quick' });
  expect(duringLoad(status({ rows: 200_001, graphRows: 100_000 }), 100_000)).toEqual({
    type: 'extend',
    rows: 12_500,
    care: 'quick',
  });
});

test('a first graph of more rows than are scanned soon is built in steps, after a load, too', () => {
  const input = { idle: true, optimization: null, scannedSoon: 100_000, graphRowsMin: GRAPH_ROWS_MIN };
  expect(nextStep(status({ rows: 100_000 }), input)).toEqual({ type: 'extend', rows: 100_000, care: 'quick' });
  expect(nextStep(status({ rows: 200_000 }), input)).toEqual({ type: 'extend', rows: 25_000, care: 'quick' });
});

test('during a load, what somebody asked for is done, and dead rows are removed', () => {
  expect(duringLoad(status({ rows: 100_000 }), 100_000, { rows: 100_000, compacted: true }).type).toBe('extend');
  expect(duringLoad(status({ rows: 100_000, live: 80_000, graphRows: 60_000, graphDead: 20_000 }), 100_000)).toEqual({
    type: 'compact',
  });
});

test('rows wait only for a load, and only where it leaves no processor to spare', () => {
  const load = { dim: 128, rowsPerSecond: 20_000, processors: 2, isSearched: true };
  expect(rowsThatWait(load)).toBe(125_000);
  expect(rowsThatWait({ ...load, dim: 768, rowsPerSecond: 2_000, processors: 4 })).toBe(52_083);
  expect(rowsThatWait({ ...load, rowsPerSecond: 1_000 })).toBe(0);
  expect(rowsThatWait({ ...load, processors: 8 })).toBe(0);
});

test('more rows wait while nobody searches', () => {
  const load = { dim: 384, rowsPerSecond: 20_000, processors: 2 };
  expect(rowsThatWait({ ...load, isSearched: true })).toBe(104_166);
  expect(rowsThatWait({ ...load, isSearched: false })).toBe(416_664);
});

test('cells are made last, of graphs that are large enough, and anew when a tenth has come', () => {
  const graphRows = 100_000;
  expect(next(status({ rows: graphRows, graphRows, cellRows: 0 }), false)).toEqual({ type: 'cells' });
  expect(next(status({ rows: graphRows, graphRows, refinedRows: 99_000, cellRows: 0 }), false).type).toBe('refine');
  expect(next(status({ rows: graphRows, graphRows, cellRows: 90_000 }), false)).toEqual({ type: 'cells' });
  expect(next(status({ rows: graphRows, graphRows, cellRows: 92_000 }), false)).toEqual({ type: 'nothing' });
  expect(next(status({ rows: CELL_ROWS_MIN, graphRows: CELL_ROWS_MIN, cellRows: 0 }), false)).toEqual({
    type: 'cells',
  });
  expect(next(status({ rows: CELL_ROWS_MIN - 1, graphRows: CELL_ROWS_MIN - 1, cellRows: 0 }), false)).toEqual({
    type: 'nothing',
  });
});
