import type { CollectionsService } from '../../service/service';
import type { HttpLimits } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import { jobAnswer } from '../schema/job-schemas';
import { reembedBody } from '../schema/reembed-schemas';
import { embeddingOf } from './collection-endpoints';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { jobData } from './job-endpoints';

/** Vectors of another model for a collection. */
export function reembedEndpoints({
  collections,
  limits,
}: {
  collections: CollectionsService;
  limits: HttpLimits;
}): Endpoint[] {
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/reembed',
      access: 'admin',
      tag: 'Collections',
      summary: 'Embed all texts of a collection anew, with another model',
      description:
        'Begins a job, and the collection is used as before meanwhile. It looks whether every item has a text ' +
        '(step `checking`), embeds them into a second set of shards (`filling`), follows what is written, and ' +
        'asks both sets the same queries. Then it is `ready`: its `result` has `overlap_at_10`, `ndcg_at_10` ' +
        'where queries were judged, and `bytes`. After `POST /v1/jobs/{id}/switch`, or by itself with ' +
        '`"switch": "auto"`, all calls use the new vectors (`switched`); `POST /v1/jobs/{id}/back` takes that ' +
        'back for `keep_hours`, and loses no write. Ids, versions, metadata and expiry stay. Vectors that ' +
        'callers gave are replaced where there is a text, and refused afterwards unless of the new dimension.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: reembedBody(limits),
        example: { model: 'local:builtin', switch: 'auto', keep_hours: 24 },
      },
      answer: { type: 'data', schema: jobAnswer },
      errors: [400, 404, 409],
      isOnce: true,
      handle: async ({ path, body, inStore }) => {
        const { on_no_text: onNoText, keep_hours: keepHours, dim, template, compare } = body;
        const embedding = embeddingOf(body);
        const request = { embedding, dim, template, onNoText, compare, switch: body.switch, keepHours };
        return dataAnswer(jobData(await inStore((dedup) => collections.reembed(path.name, request, dedup))));
      },
    }),
  ];
}
