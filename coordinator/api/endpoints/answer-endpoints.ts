import { identityOf } from '../../service/keys/caller';
import type {
  AnswersService,
  AnswerSource,
  AnswerStep,
  AnswerSteps,
  AnswerView,
  ChunkIdentity,
} from '../../service/answers-service';
import type { SearchService } from '../../service/service';
import { scoreJson } from '../answers/answer-json';
import { FilterDoubts } from '../answers/filter-doubts';
import type { HttpLimits } from '../requests/http-limits';
import { answerAnswer, answerBody } from '../schema/answer-schemas';
import { defineEndpoint } from './define-endpoint';
import type { AnswerEvents, Endpoint } from './endpoint';
import { namedFields } from './search-endpoints';

export function answerEndpoints(parts: {
  answers: AnswersService;
  search: SearchService;
  limits: HttpLimits;
}): Endpoint[] {
  const { answers, limits } = parts;
  const doubts = new FilterDoubts(parts.search);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/answer',
      access: 'readonly',
      collections: { type: 'body', field: 'collection_name' },
      tag: 'Documents',
      summary: 'Answer a question, with checked citations',
      description:
        'A language model answers from passages that a search finds; its quotes are looked for in these. ' +
        '400 without a language model (LLM_BASE_URL), 429 when the tokens of the day are used up.',
      body: {
        type: 'json',
        required: true,
        schema: answerBody(limits),
        example: { collection_name: 'articles', question: 'Which rivers flood in spring?', k: 5 },
      },
      answer: { type: 'data', schema: answerAnswer, streams: true },
      errors: [404],
      handle: async ({ body, key, hold, warnings }) => {
        const { collection_name: collection, isFollowed, search, ...asked } = body;
        const identity = key === null ? null : identityOf(key);
        const steps = await answers.answer(
          { collection, search, ...asked },
          {
            identity,
            hold,
            warn: (message) => warnings.warn(message),
          },
        );
        try {
          const first = await steps.next();
          const hasHits = first.done !== true;
          const named = namedFields(search, '', 'question');
          await doubts.look({ collection, filter: search.query.filter, hasHits, ...(named && { named }) }, warnings);
          return { type: 'events', events: eventsOf(steps, first), isFollowed };
        } catch (error) {
          await steps.return();
          throw error;
        }
      },
    }),
  ];
}

/** `first`: the first of the steps. */
function eventsOf(steps: AnswerSteps, first: IteratorResult<AnswerStep, AnswerView>): AnswerEvents {
  let isFirst = true;
  return {
    next: async () => {
      const { done, value } = isFirst ? first : await steps.next();
      isFirst = false;
      return done === true ? { done, value: answerJson(value) } : { done: false, value: eventOf(value) };
    },
    return: () => steps.return(),
  };
}

function eventOf(step: AnswerStep): { name: string; json: string } {
  return step.type === 'sources'
    ? { name: 'sources', json: `{"sources":${sourcesJson(step.sources)}}` }
    : { name: 'text', json: JSON.stringify({ text: step.text }) };
}

function answerJson(view: AnswerView): string {
  const { promptTokens, completionTokens, isEstimated } = view.usage;
  const sentences = view.sentences.map(({ text, citations }) => ({
    text,
    citations: citations.map(({ source, chunk, start, end, quote }) => ({
      ...placeOf(source.number, chunk),
      start,
      end,
      quote,
    })),
    ...(citations.length === 0 && { unsupported: true }),
  }));
  const { timing } = view;
  const rest = {
    refused: view.refused,
    model: view.model,
    finish: view.finish,
    dropped_quotes: view.droppedQuotes,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      ...(isEstimated && { estimated: true }),
    },
    timing_ms: {
      embedding_ms: timing.embeddingMs,
      retrieval_ms: timing.retrievalMs,
      first_token_ms: timing.firstTokenMs,
      model_ms: timing.modelMs,
      checking_ms: timing.checkingMs,
      total_ms: timing.totalMs,
    },
  };
  const head = JSON.stringify({ answer: view.text, sentences });
  return `${head.slice(0, -1)},"sources":${sourcesJson(view.sources)},${JSON.stringify(rest).slice(1)}`;
}

function placeOf(number: number, { externalId, documentId, page }: ChunkIdentity): object {
  return { number, external_id: externalId, document_id: documentId, page };
}

function sourcesJson(sources: readonly AnswerSource[]): string {
  const each = sources.map((one) => {
    const { documentKey, chunkIndex, start, end, headings, source, text } = one;
    const own = { document_key: documentKey, chunk_index: chunkIndex, start, end, headings, source, text };
    const members = { ...placeOf(one.number, one), ...own };
    return `{"score":${scoreJson(one.score)},${JSON.stringify(members).slice(1)}`;
  });
  return `[${each.join(',')}]`;
}
