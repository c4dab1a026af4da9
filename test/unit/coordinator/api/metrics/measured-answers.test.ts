import { MeasuredAnswers } from '../../../../../coordinator/api/metrics/measured-answers';
import type { ChatPiece } from '../../../../../coordinator/models/language/language-model';
import { metricsOfProcess } from '../../../../support/processes/metrics-of-process';

describe('the metrics of answers', () => {
  test('count calls, tokens and ends by model, and what became of questions', async () => {
    const { metrics } = metricsOfProcess();
    const pieces: (ChatPiece | Error)[] = [];
    const measured = new MeasuredAnswers(
      {
        chat: async () => ({
          next: async () => {
            const value = pieces.shift();
            if (value instanceof Error) throw value;
            return value === undefined ? { done: true, value } : { done: false, value };
          },
          return: async () => ({ done: true, value: undefined }),
        }),
      },
      ['m'],
      metrics,
    );
    const chat = () => measured.chat({ model: 'm', messages: [], tokensMax: 1 });
    const usage = { promptTokens: 30, completionTokens: 4 };
    pieces.push({ text: '' }, { text: 'a' }, { text: 'b', end: { finish: 'length', usage } });
    const whole = await chat();
    while ((await whole.next()).value !== undefined);
    pieces.push(new Error('too warm'));
    await expect((await chat()).next()).rejects.toThrow('too warm');
    const left = await chat();
    await left.return();
    await left.return();
    measured.note({ outcome: 'answered', quotesFound: 3, quotesDropped: 2, sentences: 5, unsupported: 1 });
    const text = await metrics.text();
    for (const line of [
      'quiver_llm_duration_seconds_count{model="m"} 3',
      'quiver_llm_first_token_seconds_count{model="m"} 1',
      'quiver_llm_tokens_total{model="m",kind="prompt"} 30',
      'quiver_llm_tokens_total{model="m",kind="completion"} 4',
      'quiver_llm_finishes_total{model="m",finish="length"} 1',
      'quiver_llm_failures_total{model="m"} 1',
      'quiver_answers_total{outcome="answered"} 1',
      'quiver_answers_total{outcome="refused"} 0',
      'quiver_answer_quotes_total{result="dropped"} 2',
      'quiver_answer_sentences_total{support="supported"} 4',
      'quiver_answer_sentences_total{support="unsupported"} 1',
    ])
      expect(text).toContain(line);
  });
});
