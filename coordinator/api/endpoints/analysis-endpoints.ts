import type { PlacedTerm } from '../../../shared/base/text/placed-terms';
import { ownTurn } from '../../../shared/base/time/work-slices';
import type { SearchService } from '../../service/service';
import { pagedPieces } from '../answers/answer-json';
import type { HttpLimits } from '../requests/http-limits';
import * as schemas from '../schema/analysis-schemas';
import { collectionParameters } from '../schema/collection-schemas';
import { defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

export function analysisEndpoints(parts: { search: Pick<SearchService, 'analyse'>; limits: HttpLimits }): Endpoint[] {
  const { search, limits } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/analyse',
      access: 'readonly',
      tag: 'Search',
      summary: 'Show how a text is cut into terms',
      description: 'Keyword search counts these terms.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.analysisBody(limits),
        example: { text: 'The rivers’ floods', as: 'query' },
      },
      answer: { type: 'data', schema: schemas.analysisAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { analyser, version, language, parts: terms, synonyms } = await search.analyse(path.name, body);
        const head = `{"analyser":"${analyser}","version":${version},"language":${JSON.stringify(language)},"terms":`;
        const tail = synonyms === undefined ? '}' : `,"synonyms":${JSON.stringify(synonyms)}}`;
        return { type: 'pieces', pieces: pagedPieces(head, inTurns(terms), termJson, () => tail) };
      },
    }),
  ];
}

async function* inTurns(parts: Iterable<PlacedTerm[]>): AsyncGenerator<PlacedTerm[]> {
  for (const part of parts) {
    const turn = ownTurn();
    if (turn !== undefined) await turn;
    yield part;
  }
}

function termJson({ term, start, end, isStopWord }: PlacedTerm): string {
  return `{"term":${JSON.stringify(term)},"start":${start},"end":${end},"stop_word":${isStopWord}}`;
}
