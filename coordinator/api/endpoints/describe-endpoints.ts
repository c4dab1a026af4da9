import type { JsonObject } from '../../../shared/contract/filter/filter';
import { fieldProfiles } from '../../service/sampling/field-profile';
import type {
  CollectionsService,
  SamplesService,
  SearchService,
  VectorsService,
  VectorView,
} from '../../service/service';
import { FilterDoubts } from '../answers/filter-doubts';
import type { HttpLimits } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import { describeAnswer, describeBody } from '../schema/describe-schemas';
import { defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

/** Characters of a sample's text. */
const TEXT_SHOWN = 1000;

export function describeEndpoints(parts: {
  collections: Pick<CollectionsService, 'get'>;
  samples: SamplesService;
  vectors: Pick<VectorsService, 'fetch'>;
  search: SearchService;
  limits: HttpLimits;
}): Endpoint[] {
  const { collections, samples, vectors, limits } = parts;
  const doubts = new FilterDoubts(parts.search);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/describe',
      access: 'readonly',
      tag: 'Collections',
      summary: 'Say what fields a collection has, and what is in them',
      description: 'By a uniform sample of its items: for people and language models that are about to write filters.',
      path: collectionParameters,
      body: { type: 'json', required: false, schema: describeBody(limits), example: { looked_at: 200, samples: 2 } },
      answer: { type: 'data', schema: describeAnswer },
      errors: [404],
      handle: async ({ path, body, hold, warnings }) => {
        const { filters: filter, looked_at: size } = body;
        const { name, description, dim, metric, language, embeddingModel } = await collections.get(path.name);
        const wanted = { size, seed: 0, filter, fields: null, vectors: false, dimensions: null };
        const { population, items } = await samples.sample(path.name, wanted, hold);
        await doubts.look({ collection: path.name, filter, hasHits: population > 0 }, warnings);
        const fields = fieldProfiles(items.map(({ metadata }) => JSON.parse(metadata) as JsonObject));
        const ids = items.slice(0, body.samples).map(({ externalId }) => externalId);
        const shown: VectorView[] = [];
        if (ids.length > 0)
          for await (const page of await vectors.fetch(path.name, ids, { vectors: false, hold })) shown.push(...page);
        const facts = {
          name,
          description,
          dim,
          distance_metric: metric,
          language,
          embedding_model: embeddingModel,
          items: population,
          looked_at: items.length,
          fields: fields.map(({ range, ...field }) => ({ ...field, ...range })),
        };
        const each = shown.map(
          ({ externalId, metadata, text }) =>
            `{"external_id":${JSON.stringify(externalId)},"metadata":${metadata},"text":${JSON.stringify(text?.slice(0, TEXT_SHOWN).toWellFormed() ?? null)}}`,
        );
        return { type: 'data', json: `${JSON.stringify(facts).slice(0, -1)},"samples":[${each.join(',')}]}` };
      },
    }),
  ];
}
