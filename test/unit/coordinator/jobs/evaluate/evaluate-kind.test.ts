import { EvaluateKind } from '../../../../../coordinator/jobs/evaluate/evaluate-kind';
import type { RunningJob } from '../../../../../coordinator/jobs/record/job-kind';
import type { SearchRequest } from '../../../../../coordinator/service/search-request';
import type { SearchAnswer } from '../../../../../coordinator/service/service';

const RELEVANT = new Map([['a', 1]]);

interface State {
  identity: string;
  revision: number;
  vectorsSince: string | undefined;
}

/** A collection with judgements, where `during` happens once a query is asked. */
function setUp(during: (state: State) => void = () => undefined) {
  const state: State = { identity: 'c-1', revision: 4, vectorsSince: undefined };
  const view = { name: 'set', queries: 1, grades: 1, updatedAt: '' };
  const kind = new EvaluateKind({
    judgements: {
      find: async () => ({ ...state, view, judged: [{ query: 'car', relevant: RELEVANT }] }),
      presentOf: async () => ({ ...state }),
    },
    search: {
      search: async () => {
        during(state);
        return { hits: [{ externalId: 'a' }] } as SearchAnswer;
      },
      count: async () => 1,
    },
    searchOf: () => ({}) as SearchRequest,
  });
  const input = { name: 'set', variants: [{}], k: 3, identity: 'c-1', revision: 4 };
  const job = { record: { collection: 'c', input }, report: () => undefined } as unknown as RunningJob;
  return { state, run: () => kind.run(job, new AbortController().signal) };
}

test('judgements that are replaced once they were read leave an evaluation as it is', async () => {
  const { run } = setUp((state) => (state.revision += 1));
  expect(await run()).toMatchObject({ queries: 1, variants: [{ ndcg: { mean: 1 } }] });
});

test('others than were meant are not evaluated', async () => {
  const { state, run } = setUp();
  state.revision += 1;
  await expect(run()).rejects.toThrow('judgements "set" were changed before they were evaluated');
});

test('hits of another collection under the name are not taken for those of the first', async () => {
  const { run } = setUp((state) => (state.identity = 'c-2'));
  await expect(run()).rejects.toThrow('collection "c" was made anew while it was asked');
});

test('an evaluation is not of the vectors of two models', async () => {
  const { run } = setUp((state) => (state.vectorsSince = '2026-11-30T00:00:00.000Z'));
  await expect(run()).rejects.toThrow('collection "c" got vectors of another model while it was asked');
});
