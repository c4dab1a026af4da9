import {
  type StageState,
  stageAfter,
  mustAnswer,
  OPEN_STAGE,
  refusesReads,
  refusesWrites,
} from '../../../../../node/engine/records/shard-stage-state';
import type { StageOperation } from '../../../../../shared/contract/shard/shard-client';
import { SHARD_STAGES, type ShardStage } from '../../../../../shared/contract/shard/shard-stage';

const to = (stage: ShardStage, given: Partial<StageOperation> = {}): StageOperation => ({
  type: 'stage',
  term: 1,
  reshard: 'r',
  stage,
  forget: 0,
  ...given,
});

/** The gate after stages, none of which may be outdated. */
function after(...operations: StageOperation[]): StageState {
  return operations.reduce<StageState>((stageState, operation) => {
    const next = stageAfter(stageState, operation);
    if (next === null) throw new Error(`${operation.stage} of term ${operation.term} is outdated`);
    return next;
  }, OPEN_STAGE);
}

test('what comes with an earlier term is outdated, also after the reshard is over', () => {
  for (const stage of SHARD_STAGES) {
    const stageState = after(to('tracking', { term: 3, reshard: 'another' }), to(stage, { term: 5 }));
    for (const late of SHARD_STAGES) expect(stageAfter(stageState, to(late, { term: 4 }))).toBeNull();
    expect(stageAfter(stageState, to('closed', { term: 5 }))).not.toBeNull();
  }
});

test('a shard that was opened takes nothing over what clients wrote: it fills no more for that reshard', () => {
  const stageState = after(to('filling'), to('open', { term: 2 }));
  expect(stageAfter(stageState, to('filling', { term: 9 }))).toBeNull();
  expect(stageAfter(stageState, to('open', { term: 9 }))).not.toBeNull();
  expect(after(to('filling'), to('filling', { term: 2 })).stage).toBe('filling');
  // One that took over notes its changes from the first on, and a driver may know less than it.
  const noting = after(to('filling'), to('open', { term: 2 }), to('tracking', { term: 2 }));
  for (const term of [2, 9]) expect(stageAfter(noting, to('filling', { term }))).toBeNull();
  expect(stageAfter(noting, to('filling', { term: 9, reshard: 'another' }))).not.toBeNull();
  // On a way back it fills again what was closed.
  expect(after(to('tracking'), to('sealed'), to('closed'), to('filling')).stage).toBe('filling');
});

test('whoever fills a shard is told what is in it, and nobody else', () => {
  const filling: StageState = { ...OPEN_STAGE, stage: 'filling' };
  const request = { externalIds: ['a'], vectors: true };
  const resharded = expect.objectContaining({ kind: 'resharded' });
  expect(() => mustAnswer(filling, 'fetch', { ...request, filling: true })).not.toThrow();
  expect(() => mustAnswer(filling, 'fetch', request)).toThrow(resharded);
  const closed: StageState = { ...OPEN_STAGE, stage: 'closed' };
  expect(() => mustAnswer(closed, 'fetch', { ...request, filling: true })).toThrow(resharded);
});

test('it tells since when it tracks without a pause, from which stage to which it may go', () => {
  const tracking = after(to('tracking', { term: 4 }));
  expect(tracking.since).toBe(4);
  for (const path of [['sealed'], ['sealed', 'closed'], ['sealed', 'tracking'], ['closed', 'sealed']] as const) {
    expect(after(to('tracking', { term: 4 }), ...path.map((stage, i) => to(stage, { term: 5 + i }))).since).toBe(4);
  }
  expect(after(to('tracking', { term: 4 }), to('open', { term: 5 })).since).toBe(0);
  expect(after(to('tracking', { term: 4 }), to('open', { term: 5 }), to('tracking', { term: 6 })).since).toBe(6);
  expect(after(to('tracking', { term: 4 }), to('tracking', { term: 5, reshard: 'another' })).since).toBe(5);
});

test('changes are forgotten when that is said, never those to come, and all when it is over or begins anew', () => {
  const changed: StageState = { ...after(to('tracking')), lastChange: 10 };
  expect(stageAfter(changed, to('tracking', { forget: 7 }))?.forgotten).toBe(7);
  expect(stageAfter(changed, to('tracking', { forget: 99 }))?.forgotten).toBe(10);
  expect(stageAfter({ ...changed, forgotten: 8 }, to('sealed', { forget: 3 }))?.forgotten).toBe(8);
  expect(stageAfter(changed, to('open'))).toMatchObject({ forgotten: 10, lastChange: 10 });
  expect(stageAfter(changed, to('tracking', { reshard: 'another' }))).toMatchObject({ forgotten: 10, lastChange: 10 });
});

test('writes are refused while it is sealed, closed or filling, and reads from when it is closed', () => {
  const letsThrough = (stage: ShardStage): string =>
    `${refusesWrites({ ...OPEN_STAGE, stage }) ? '' : 'writes '}${refusesReads({ ...OPEN_STAGE, stage }) ? '' : 'reads'}`.trim();
  expect(SHARD_STAGES.map((stage) => [stage, letsThrough(stage)])).toEqual([
    ['open', 'writes reads'],
    ['tracking', 'writes reads'],
    ['sealed', 'reads'],
    ['closed', ''],
    ['filling', ''],
  ]);
  expect(() => mustAnswer({ ...OPEN_STAGE, stage: 'closed' }, 'count', null as never)).toThrow(
    expect.objectContaining({ kind: 'resharded' }),
  );
  expect(() => mustAnswer({ ...OPEN_STAGE, stage: 'closed' }, 'transfer', { after: 0, limit: 1 })).not.toThrow();
});
