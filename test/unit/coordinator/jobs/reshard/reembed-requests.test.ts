import { mustNotBeUnderWay } from '../../../../../coordinator/jobs/reshard/reshard-requests';
import { type ReembedChange, ReembedRequests } from '../../../../../coordinator/jobs/reshard/reembed-requests';
import { type Reembed, type ReshardRecord } from '../../../../../coordinator/service/collections/reshard-record';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { Feature } from '../../../../../shared/base/process/member-version';
import { ManualClock } from '../../../../support/manual-clock';
import { keptFor, reembedRecord } from '../../../../support/shards/reembed-record';

/** What may be asked of a job that has switched. */

const HOUR_MS = 3_600_000;
const clock = new ManualClock();

/** A job that is kept for an hour more. */
function kept(more: Partial<Reembed>): ReshardRecord {
  const switchedAt = new Date(clock.wallMs() - HOUR_MS).toISOString();
  return reembedRecord(
    'kept',
    { ...keptFor(clock), switch: 'manual', keepHours: 2, switchedAt, compared: undefined, ...more },
    clock,
  );
}

/** Asks it of such a job. */
async function asked(change: ReembedChange, more: Partial<Reembed>): Promise<Reembed | undefined> {
  const record = kept(more);
  const requests = new ReembedRequests({
    clock,
    store: { transact: async () => ({ applied: true, revision: 2 }) },
    reshards: { storedOf: async () => ({ record, revision: 1 }) },
    collection: async () => ({ identity: 'c' }),
  } as unknown as ConstructorParameters<typeof ReembedRequests>[0]);
  return (await requests.change('c', 'reembed-r', change))?.reembed;
}

const switching = (keepHours?: number): ReembedChange => ({ type: 'switch', keepHours });

test('going back can be taken back, also for good', async () => {
  expect(await asked({ type: 'back' }, {})).toMatchObject({ wanted: 'back' });
  const stayed = await asked(switching(), { wanted: 'back' });
  expect(stayed?.wanted).toBeUndefined();
  expect(stayed?.keptUntil).toBe(clock.wallMs() + HOUR_MS);
  expect(await asked(switching(0), { wanted: 'back' })).toMatchObject({ wanted: undefined, keptUntil: clock.wallMs() });
  const late = await asked(switching(), { wanted: 'back', keptUntil: clock.wallMs() });
  expect(late?.wanted).toBeUndefined();
});

test.each([{ keptUntil: clock.wallMs() }, { isEnding: true }])(
  'once the vectors of before are not kept any more, nobody goes back or has them kept for longer: %j',
  async (over) => {
    const refused = { kind: 'conflict', message: expect.stringContaining('the vectors of before are not kept') };
    await expect(asked({ type: 'back' }, over)).rejects.toMatchObject(refused);
    await expect(asked(switching(48), over)).rejects.toMatchObject(refused);
    expect((await asked(switching(0), over))?.keepHours).toBe(2);
  },
);

test('nobody goes back while items are missing in the vectors of before, and it is told which', async () => {
  await expect(asked({ type: 'back' }, { unmade: ['a', 'b'] })).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining('makes no vector of 2 items, such as "a", "b": give them texts'),
  });
  expect(await asked({ type: 'back' }, { unmade: [] })).toMatchObject({ wanted: 'back' });
});

test('a pause is refused in the words that the job is shown with', async () => {
  await expect(asked({ type: 'pause' }, {})).rejects.toThrow('job reembed-r can’t be paused while it is switched');
});

test.each([
  [{}, /can go back to the vectors of before until 20.*POST \/v1\/jobs\/reembed-r\/back/],
  [
    { wanted: 'back' },
    /goes back to the vectors of before: wait for job reembed-r, or keep the new ones \(POST .*\/switch\)/,
  ],
  [{ isEnding: true }, /is giving its vectors of before up: wait for job reembed-r/],
] as const)('what another has to wait for is told: %j', (more, told) => {
  expect(() => mustNotBeUnderWay(kept(more))).toThrow(
    expect.objectContaining({ message: expect.stringMatching(told) }),
  );
});

test('a template is asked for where every member knows what one is', async () => {
  const begun = (missing: Feature, template?: string): Promise<unknown> =>
    new ReembedRequests({
      obstacle: (feature: Feature) => (feature === missing ? `nobody knows ${feature}` : null),
      collection: () => Promise.reject(new QuiverError('not_found', 'it is looked for')),
    } as unknown as ConstructorParameters<typeof ReembedRequests>[0]).begin('c', {
      embedding: { model: 'local:m' },
      template,
      onNoText: 'fail',
      compare: { sample: 1 },
      switch: 'manual',
      keepHours: 0,
    });
  await expect(begun('reembeds')).rejects.toMatchObject({ message: 'nobody knows reembeds' });
  await expect(begun('passage-templates', '{{title}}')).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'nobody knows passage-templates',
  });
  await expect(begun('passage-templates', '{{text}}')).rejects.toMatchObject({ kind: 'not_found' });
  await expect(begun('passage-templates')).rejects.toMatchObject({ kind: 'not_found' });
});
