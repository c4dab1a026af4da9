import type { SamplesService, SampleView, SearchService } from '../../service/service';
import { listPieces } from '../answers/answer-json';
import { defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { FilterDoubts } from '../answers/filter-doubts';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import * as schemas from '../schema/sample-schemas';

/** Bytes that become base64 at once; divisible by 3, so that the pieces make one text. */
const PIECE_BYTES = 48 * 1024;

export function sampleEndpoints(parts: {
  samples: SamplesService;
  search: SearchService;
  limits: HttpLimits;
}): Endpoint[] {
  const { samples, limits } = parts;
  const doubts = new FilterDoubts(parts.search);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/sample',
      access: 'readonly',
      tag: 'Vectors',
      summary: 'Draw a uniform sample of the items that match',
      description:
        'Which items are drawn follows from the seed and their ids, not from shards or the order of writes. A `projection` shows the vectors in few dimensions, for pictures; ' +
        'its axes are found from the first of a large sample (16 MiB of vectors). An answer holds at most 16 MiB of vectors, and 33,554,432 characters of ids and metadata. ' +
        `Items that are written meanwhile may be left out. At most ${REQUEST_BOUNDS.sampleMax} items.`,
      path: collectionParameters,
      body: {
        type: 'json',
        required: false,
        schema: schemas.sampleBody(limits),
        example: {
          size: 1000,
          seed: 7,
          filters: { topic: 'rivers' },
          metadata_fields: ['topic'],
          projection: { method: 'pca', dimensions: 2 },
        },
      },
      answer: { type: 'data', schema: schemas.sampleAnswer },
      errors: [404],
      handle: async ({ path, body, hold, warnings }) => {
        const { size, seed, filters: filter, metadata_fields: fields, include_vectors: vectors, projection } = body;
        const view = await samples.sample(
          path.name,
          { size, seed, filter, fields: fields ?? null, vectors, dimensions: projection?.dimensions ?? null },
          hold,
        );
        await doubts.look({ collection: path.name, filter, hasHits: view.population > 0 }, warnings);
        return { type: 'pieces', pieces: samplePieces(view, seed) };
      },
    }),
  ];
}

function* samplePieces(view: SampleView, seed: number): Generator<string> {
  const { population, items, dim, vectors, projection } = view;
  const head = `{"size":${items.length},"population":${population},"seed":${seed},"items":`;
  yield* listPieces(
    head,
    items,
    ({ externalId, metadata }) => `{"external_id":${JSON.stringify(externalId)},"metadata":${metadata}}`,
    '',
  );
  if (vectors !== null)
    yield* base64Pieces(
      `,"vectors":{"format":"base64_float32","count":${items.length},"dimensions":${dim},"data":"`,
      vectors,
      '"}',
    );
  if (projection !== null) {
    const { dimensions, coordinates, shares, minima: minimum, maxima: maximum } = projection;
    const facts = `"method":"pca","dimensions":${dimensions},"format":"base64_float32","explained_variance":${JSON.stringify(shares)},"bounds":${JSON.stringify({ minimum, maximum })}`;
    yield* base64Pieces(`,"projection":{${facts},"data":"`, coordinates, '"}');
  }
  yield '}';
}

function* base64Pieces(head: string, floats: Float32Array, tail: string): Generator<string> {
  const bytes = Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength);
  yield head;
  for (let from = 0; from < bytes.length; from += PIECE_BYTES)
    yield bytes.toString('base64', from, Math.min(bytes.length, from + PIECE_BYTES));
  yield tail;
}
