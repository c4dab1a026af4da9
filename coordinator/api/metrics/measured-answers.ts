import { Counter, Histogram } from 'prom-client';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { ChatPiece, ChatRequest, ChatStream, LanguageModels } from '../../models/language/language-model';
import type { AnswerFacts } from '../../service/answers-service';

/** From a small model nearby to a long answer of a large one, in seconds. */
const DURATION_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const OUTCOMES = ['answered', 'refused', 'failed', 'abandoned'] as const;
const FINISHES = ['stop', 'length', 'content_filter', 'deadline'] as const;
const KINDS = ['prompt', 'completion'] as const;
const QUOTES = ['found', 'dropped'] as const;
const SENTENCES = ['supported', 'unsupported'] as const;

/** LanguageModels that measure others: time, tokens and failures of each call, by model; and counts of answers. */
export class MeasuredAnswers implements LanguageModels {
  private readonly durations: Histogram<'model'>;
  private readonly firstTokens: Histogram<'model'>;
  private readonly tokens: Counter<'model' | 'kind'>;
  private readonly failures: Counter<'model'>;
  private readonly finishes: Counter<'model' | 'finish'>;
  private readonly answers: Counter<'outcome'>;
  private readonly quotes: Counter<'result'>;
  private readonly sentences: Counter<'support'>;

  /** `names`: of the models that there are. */
  constructor(
    private readonly models: LanguageModels,
    names: readonly string[],
    metrics: ProcessMetrics,
  ) {
    const registers = [metrics.registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
      new Counter({ name, help, labelNames, registers });
    const histogram = (name: string, help: string): Histogram<'model'> =>
      new Histogram({ name, help, labelNames: ['model'], buckets: DURATION_BUCKETS, registers });
    this.durations = histogram('quiver_llm_duration_seconds', 'Time of a call of a language model, until it ended');
    this.firstTokens = histogram('quiver_llm_first_token_seconds', 'Time until a language model wrote something');
    this.tokens = counter('quiver_llm_tokens_total', 'Tokens of language models, as their provider says it', [
      'model',
      'kind',
    ]);
    this.failures = counter('quiver_llm_failures_total', 'Calls of language models that failed, refused ones too', [
      'model',
    ]);
    this.finishes = counter('quiver_llm_finishes_total', 'Calls of language models that ended, by why they did', [
      'model',
      'finish',
    ]);
    this.answers = counter(
      'quiver_answers_total',
      'Questions by what became of them; refused: nothing relevant was found; abandoned: their client was gone',
      ['outcome'],
    );
    this.quotes = counter('quiver_answer_quotes_total', 'Quotes in answers, by whether they were found', ['result']);
    this.sentences = counter('quiver_answer_sentences_total', 'Sentences of answers, by whether they have a quote', [
      'support',
    ]);
    for (const model of names) {
      this.durations.zero({ model });
      this.firstTokens.zero({ model });
      this.failures.inc({ model }, 0);
      for (const kind of KINDS) this.tokens.inc({ model, kind }, 0);
      for (const finish of FINISHES) this.finishes.inc({ model, finish }, 0);
    }
    for (const outcome of OUTCOMES) this.answers.inc({ outcome }, 0);
    for (const result of QUOTES) this.quotes.inc({ result }, 0);
    for (const support of SENTENCES) this.sentences.inc({ support }, 0);
  }

  note({ outcome, quotesFound, quotesDropped, sentences, unsupported }: AnswerFacts): void {
    this.answers.inc({ outcome });
    this.quotes.inc({ result: 'found' }, quotesFound);
    this.quotes.inc({ result: 'dropped' }, quotesDropped);
    this.sentences.inc({ support: 'supported' }, sentences - unsupported);
    this.sentences.inc({ support: 'unsupported' }, unsupported);
  }

  async chat(request: ChatRequest): Promise<ChatStream> {
    const { model } = request;
    const startMs = performance.now();
    try {
      return this.measured(await this.models.chat(request), model, startMs);
    } catch (error) {
      this.failures.inc({ model });
      throw error;
    }
  }

  private measured(stream: ChatStream, model: string, startMs: number): ChatStream {
    const seconds = (): number => (performance.now() - startMs) / 1000;
    let hasText = false;
    let isOver = false;
    const over = (): void => {
      if (!isOver) this.durations.observe({ model }, seconds());
      isOver = true;
    };
    return {
      next: async () => {
        let step: IteratorResult<ChatPiece, undefined>;
        try {
          step = await stream.next();
        } catch (error) {
          this.failures.inc({ model });
          over();
          throw error;
        }
        if (step.done === true) {
          over();
          return step;
        }
        const { text, end } = step.value;
        if (text !== '' && !hasText) {
          hasText = true;
          this.firstTokens.observe({ model }, seconds());
        }
        if (end === undefined) return step;
        this.finishes.inc({ model, finish: end.finish });
        this.tokens.inc({ model, kind: 'prompt' }, end.usage?.promptTokens ?? 0);
        this.tokens.inc({ model, kind: 'completion' }, end.usage?.completionTokens ?? 0);
        over();
        return step;
      },
      return: () => {
        over();
        return stream.return();
      },
    };
  }
}
