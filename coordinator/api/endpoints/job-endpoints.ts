import type { JobsService, JobView } from '../../service/jobs-service';
import type { AliasLookUp } from '../../service/service';
import { seeingOf } from '../requests/authorisation';
import * as schemas from '../schema/job-schemas';
import { switchBody } from '../schema/reembed-schemas';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

const tag = 'Jobs';

/** A job as answers have it. */
export function jobData({
  rights: _rights,
  perSecond,
  secondsLeft,
  createdAt,
  startedAt,
  endedAt,
  waitsFor,
  ...job
}: JobView) {
  return {
    ...job,
    per_second: perSecond,
    seconds_left: secondsLeft,
    created_at: createdAt === '' ? null : createdAt,
    started_at: startedAt,
    ended_at: endedAt,
    waits_for: waitsFor,
  };
}

/** Who may see a job or change it follows from what it works on, so the service judges it. */
export function jobEndpoints({ jobs, aliases }: { jobs: JobsService; aliases: AliasLookUp }): Endpoint[] {
  const shared = {
    access: 'readonly',
    collections: { type: 'own' },
    tag,
    path: schemas.jobParameters,
    answer: { type: 'data', schema: schemas.jobAnswer },
  } as const;
  return [
    defineEndpoint({
      ...shared,
      method: 'GET',
      template: '/v1/jobs',
      isWatched: true,
      summary: 'List long work, the newest first',
      description:
        'Those that the key may know of: jobs of a collection with the rights for it, others with an admin key. ' +
        'What is over is kept for 7 days, at most the last 1,000.',
      path: undefined,
      query: schemas.jobsQuery,
      answer: { type: 'data', schema: schemas.jobsAnswer },
      handle: async ({ query, key }) => {
        const { collection: named, ...asked } = query;
        const collection = named === undefined ? undefined : await aliases.names.resolve(named);
        const page = await jobs.list({ ...asked, collection }, await seeingOf(key, aliases));
        return dataAnswer({ jobs: page.jobs.map(jobData), next_cursor: page.nextCursor });
      },
    }),
    defineEndpoint({
      ...shared,
      method: 'GET',
      template: '/v1/jobs/{id}',
      isWatched: true,
      summary: 'A job: how far it is',
      errors: [404],
      handle: async ({ path, key }) => dataAnswer(jobData(await jobs.get(path.id, await seeingOf(key, aliases)))),
    }),
    defineEndpoint({
      ...shared,
      method: 'DELETE',
      template: '/v1/jobs/{id}',
      isAdministrative: true,
      summary: 'Cancel a job, and take back what it made',
      description:
        'The job stays in the list as cancelled. What is over stays as it is (409), and so does what can’t be ' +
        'taken back any more.',
      errors: [403, 404, 409],
      handle: async ({ path, key }) => dataAnswer(jobData(await jobs.cancel(path.id, await seeingOf(key, aliases)))),
    }),
    defineEndpoint({
      ...shared,
      method: 'POST',
      template: '/v1/jobs/{id}/pause',
      isAdministrative: true,
      summary: 'Let a job rest',
      description: 'Until it is resumed, whatever starts anew. Of kinds that can’t: 400.',
      errors: [403, 404, 409],
      handle: async ({ path, key }) => dataAnswer(jobData(await jobs.pause(path.id, await seeingOf(key, aliases)))),
    }),
    defineEndpoint({
      ...shared,
      method: 'POST',
      template: '/v1/jobs/{id}/resume',
      isAdministrative: true,
      summary: 'Go on with a job that is paused',
      errors: [403, 404, 409],
      handle: async ({ path, key }) => dataAnswer(jobData(await jobs.resume(path.id, await seeingOf(key, aliases)))),
    }),
    defineEndpoint({
      ...shared,
      method: 'POST',
      template: '/v1/jobs/{id}/switch',
      isAdministrative: true,
      summary: 'Let what a job has made take over',
      description:
        'Of a reembed that is `ready`: from then on all calls use the new vectors, each either these or those ' +
        'of before. With `keep_hours` also of one that has switched: it says anew until when there is a way ' +
        'back. Of other kinds: 400.',
      body: { type: 'json', required: false, schema: switchBody, example: { keep_hours: 48 } },
      errors: [400, 403, 404, 409],
      handle: async ({ path, body, key }) =>
        dataAnswer(jobData(await jobs.switch(path.id, body.keep_hours, await seeingOf(key, aliases)))),
    }),
    defineEndpoint({
      ...shared,
      method: 'POST',
      template: '/v1/jobs/{id}/back',
      isAdministrative: true,
      summary: 'Go back to what was before the switch of a job',
      description:
        'Of a reembed that has switched, within `keep_hours`: the vectors of before take over again, with all ' +
        'that was written since. The job is cancelled then. Of other kinds: 400.',
      errors: [400, 403, 404, 409],
      handle: async ({ path, key }) => dataAnswer(jobData(await jobs.back(path.id, await seeingOf(key, aliases)))),
    }),
  ];
}
