import { BuildingPace } from '../../../../../node/engine/vector/building-pace';
import type { NativeStatus } from '../../../../../node/engine/vector/native-binding';

const status: NativeStatus = {
  rows: 3_000,
  live: 3_000,
  graphRows: 2_000,
  graphDead: 0,
  refinedRows: 1_000,
  deviations: 3,
  effortAt10: 64,
  effortAt100: 128,
  effortRows: 2_000,
  cellRows: 0,
  unsketchedRows: 0,
  damaged: 0,
  memoryBytes: 0,
  spilledBytes: 0,
  originals: 'originals-1.f32',
};
const EXTEND = { type: 'extend', rows: 100, care: 'quick' } as const;

test('the time left is that of adding and refining what is left, and of the last measuring', () => {
  const pace = new BuildingPace();
  pace.note(EXTEND, 200);
  pace.note({ type: 'refine', rows: 100 }, 500);
  pace.note({ type: 'calibrate' }, 3_000);
  expect(pace.progress(status, EXTEND, false)).toEqual({
    state: 'indexing',
    rows: 3_000,
    indexedRows: 2_000,
    refinedRows: 1_000,
    secondsLeft: 2 + 10 + 3,
    optimizing: false,
  });
});

test('refining counts four times as long as adding until it was measured; without any step, nothing is known', () => {
  const pace = new BuildingPace();
  expect(pace.progress(status, EXTEND, true)).toMatchObject({ secondsLeft: null, optimizing: true });
  pace.note(EXTEND, 100);
  expect(pace.progress(status, EXTEND, false).secondsLeft).toBe(1 + 8);
  expect(pace.progress(status, { type: 'compact' }, false)).toMatchObject({ state: 'compacting', secondsLeft: null });
});

test('with nothing to do, nothing is left, whatever rows are scanned', () => {
  expect(new BuildingPace().progress(status, { type: 'nothing' }, false)).toMatchObject({
    state: 'ready',
    secondsLeft: 0,
  });
});
