import { z } from 'zod';
import { writerOf } from '../../service/keys/caller';
import type { DemoService } from '../../service/service';
import { DEMO_COLLECTION } from '../../service/demo/collection-demo-service';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

const demoAnswer = z
  .object({
    collection: z.string(),
    count: z.int().meta({ description: 'Texts of the demo.' }),
    loaded: z.boolean().meta({ description: 'Whether this call stored them; false: they were there.' }),
    dim: z.int(),
    embedding_model: z.string().nullable(),
  })
  .meta({ id: 'Demo' });

export function demoEndpoints({ demo }: { demo: DemoService }): Endpoint[] {
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/demo',
      access: 'readwrite',
      collections: { type: 'fixed', name: DEMO_COLLECTION },
      isAdministrative: true,
      tag: 'Service',
      summary: 'Load a small sample of texts into the collection demo, to try search, hybrid search and filters with',
      description:
        'Some 250 short texts about animals, countries, culture, elements, inventions, nature and space, with ' +
        'metadata (`topic`, `title`, `group`, `region`, `year`), embedded by the configured model. It takes some ' +
        'seconds. Calling again changes nothing. The texts are free of rights (CC0).',
      answer: { type: 'data', schema: demoAnswer },
      errors: [409],
      handle: async ({ key, warnings }) => {
        const { collection, count, loaded, dim, embeddingModel, notice } = await demo.load(writerOf(key));
        if (notice !== null) warnings.warn(notice);
        return dataAnswer({ collection, count, loaded, dim, embedding_model: embeddingModel });
      },
    }),
  ];
}
