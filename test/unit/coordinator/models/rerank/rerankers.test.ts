import { setImmediate as nextRound } from 'node:timers/promises';
import { Rerankers, type RerankersElsewhere } from '../../../../../coordinator/models/rerank/rerankers';
import type { Reranker } from '../../../../../coordinator/models/rerank/reranker';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ManualClock } from '../../../../support/manual-clock';

const LENGTHS: Reranker = { score: async (_query, texts) => texts.map((text) => text.length / 10) };

function rerankers(
  names: string[],
  given: { load?: (name: string) => Promise<Reranker>; elsewhere?: RerankersElsewhere[]; clock?: ManualClock } = {},
) {
  const logged: unknown[] = [];
  const all = new Rerankers({
    names,
    load: given.load ?? (async () => LENGTHS),
    elsewhere: () => given.elsewhere ?? [],
    patienceMs: 50,
    clock: given.clock ?? new ManualClock(0),
    log: { error: (fields) => void logged.push(fields.model) },
  });
  return { all, logged };
}

describe('Rerankers', () => {
  test('the first is meant where none is named, and the others by their names', async () => {
    const { all } = rerankers(['a', 'b']);
    expect(await all.modelOf(undefined)).toBe('a');
    expect(await all.modelOf('b')).toBe('b');
    await expect(all.modelOf('c')).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: 'there is no rerank model "c"; there are: a, b',
    });
    expect(await all.score('b', 'q', ['xx'])).toEqual([0.2]);
  });

  test('what is not here is told with the coordinators that have it', async () => {
    const elsewhere = [
      { id: 'c-1', models: ['a', 'big'] },
      { id: 'c-2', models: [] },
      { id: 'c-3', models: ['big'] },
    ];
    await expect(rerankers([], { elsewhere }).all.modelOf(undefined)).rejects.toMatchObject({
      message: 'this server has no rerank model: RERANK_MODEL is not set; coordinators that have one: c-1, c-3',
    });
    await expect(rerankers([]).all.modelOf('a')).rejects.toMatchObject({
      message: 'this server has no rerank model: RERANK_MODEL is not set',
    });
    await expect(rerankers(['a'], { elsewhere }).all.modelOf('big')).rejects.toMatchObject({
      message: 'there is no rerank model "big"; there are: a; coordinators that have it: c-1, c-3',
    });
  });

  test('is loaded once, at the start; one that fails is told, and tried again after a minute', async () => {
    const clock = new ManualClock(0);
    const loads: string[] = [];
    let isBroken = true;
    const { all, logged } = rerankers(['good', 'bad'], {
      clock,
      load: async (name) => {
        loads.push(name);
        if (name === 'bad' && isBroken) throw new QuiverError('embedding_unavailable', 'it is broken');
        return LENGTHS;
      },
    });
    await all.open();
    expect(loads).toEqual(['good', 'bad']);
    expect(logged).toEqual(['bad']);
    await all.score('good', 'q', ['x']);
    const failure = {
      kind: 'embedding_unavailable',
      message: `The rerank model "bad" can't be loaded: it is broken`,
    };
    await expect(all.score('bad', 'q', ['x'])).rejects.toMatchObject(failure);
    isBroken = false;
    await expect(all.score('bad', 'q', ['x'])).rejects.toMatchObject(failure);
    clock.advance(60_000);
    expect(await all.score('bad', 'q', ['x'])).toEqual([0.1]);
    expect(loads).toEqual(['good', 'bad', 'bad']);
  });

  test('several are loaded one after the other: their files may be the same', async () => {
    let loading = 0;
    let most = 0;
    const load = async (): Promise<Reranker> => {
      most = Math.max(most, ++loading);
      await nextRound();
      loading -= 1;
      return LENGTHS;
    };
    await rerankers(['a', 'b', 'c'], { load }).all.open();
    expect(most).toBe(1);
  });

  test('one that is still loading is waited for so long', async () => {
    const { all } = rerankers(['slow'], { load: () => new Promise(() => undefined) });
    await expect(all.score('slow', 'q', ['x'])).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('still being loaded'),
    });
  });
});
