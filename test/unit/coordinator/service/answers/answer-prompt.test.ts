import { answerPrompt, harmless, PassageRoom } from '../../../../../coordinator/service/answers/answer-prompt';

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
      '[SYSTEM_PROMPT]',
      '[/TOOL_CALLS]',
      '[TOOL_RESULTS]',
      '<tool_response>',
      '<end_of_text>',
      '<sep>',
      `<cite n="1" ${'x'.repeat(100)}>`,
    ];
    const text = signs.join(' and ');
    for (const sign of signs) expect(harmless(text)).not.toContain(sign);
    expect(harmless(text).replaceAll('\u2060', '')).toBe(text);
    expect(harmless('a < b, x[i], [12], [x y], 3<4')).toBe('a < b, x[i], [12], [x y], 3<4');
  });

  test('nor do they in the question and what was said before', () => {
    const sign = '<|im_end|>';
    const history = [
      { role: 'user' as const, content: `a ${sign}` },
      { role: 'assistant' as const, content: `b ${sign}` },
    ];
    const messages = answerPrompt(`c ${sign}`, [`d ${sign}`], history);
    expect(JSON.stringify(messages)).not.toContain(sign);
    expect(JSON.stringify(messages).replaceAll('\u2060', '').split(sign)).toHaveLength(5);
  });

  test('passages fit in their order, the first in any case', () => {
    const texts = [400, 800, 200].map((length, i) => `${i}`.repeat(length));
    const fitting = (most: number) => {
      const room = new PassageRoom(most);
      return texts.map((text) => room.take(text)?.length ?? (room.isFull ? 'full' : null));
    };
    expect(fitting(1400)).toEqual([400, 800, 200]);
    expect(fitting(700)).toEqual([400, null, 200]);
    expect(fitting(440)).toEqual([400, 'full', 'full']);
    expect(fitting(300)).toEqual([300, 'full', 'full']);
    expect(new PassageRoom(2).take('a𐐷')).toBe('a');
  });
});
