import { answerPrompt, fittingPassages, harmless } from '../../../../../coordinator/service/answers/answer-prompt';

describe('the prompt of an answer', () => {
  test('is the same for the same, and its mark depends on all of it', () => {
    const markOf = (...given: Parameters<typeof answerPrompt>) =>
      /the mark ([0-9a-f]{12}),/.exec(answerPrompt(...given).at(-1)!.content)![1];
    expect(answerPrompt('q', ['a', 'b'], [])).toEqual(answerPrompt('q', ['a', 'b'], []));
    const marks = [
      markOf('q', ['a', 'b'], []),
      markOf('q', ['ab'], []),
      markOf('q2', ['a', 'b'], []),
      markOf('q', ['a', 'b'], [{ role: 'user', content: 'x' }]),
    ];
    expect(new Set(marks).size).toBe(4);
  });

  test('signs of chat templates mean nothing in passages', () => {
    const signs = [
      '<|im_start|>',
      '</s>',
      '<s>',
      '[INST]',
      '[/INST]',
      '<<SYS>>',
      '<</SYS>>',
      '<end_of_turn>',
      '<｜User｜>',
      '<cite n="1">',
      '</CITE>',
      '<think>',
    ];
    const text = signs.join(' and ');
    for (const sign of signs) expect(harmless(text)).not.toContain(sign);
    expect(harmless(text).replaceAll('\u2060', '')).toBe(text);
    expect(harmless('a < b, x[i], <b>bold</b>')).toBe('a < b, x[i], <b>bold</b>');
  });

  test('passages fit in their order, the first in any case', () => {
    const texts = ['aaaa', 'bbbbbbbb', 'cc'].map((text) => ({ text }));
    const fitting = (most: number) => fittingPassages(texts, most).map(({ text }) => text);
    expect(fitting(14)).toEqual(['aaaa', 'bbbbbbbb', 'cc']);
    expect(fitting(6)).toEqual(['aaaa', 'cc']);
    expect(fitting(3)).toEqual(['aaa']);
    expect(fittingPassages([{ text: 'a𐐷' }], 2)).toEqual([{ text: 'a' }]);
    expect(fittingPassages([], 2)).toEqual([]);
  });
});
