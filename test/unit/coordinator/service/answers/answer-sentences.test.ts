import { answerSentences, sentenceAt } from '../../../../../coordinator/service/answers/answer-sentences';

const sentencesOf = (text: string, cited: number[] = []) =>
  answerSentences(text, cited).map(({ start, end }) => text.slice(start, end));

describe('sentences of an answer', () => {
  test.each([
    ['One. Two! Three?', ['One.', 'Two!', 'Three?']],
    ['1. First thing.\n2. Second thing.\n\n- Third', ['1. First thing.', '2. Second thing.', '- Third']],
    ['It was long before Dr.    Smith came. He left.', ['It was long before Dr.    Smith came.', 'He left.']],
    ['Dr. Smith and J. Doe came. They left.', ['Dr. Smith and J. Doe came.', 'They left.']],
    ['It was 1892. Then 1893.', ['It was 1892.', 'Then 1893.']],
    ['雪が溶ける。川が増水する。', ['雪が溶ける。', '川が増水する。']],
    ['', []],
    ['\n \n', []],
    ['no stop', ['no stop']],
  ])('%j', (text, expected) => {
    expect(sentencesOf(text)).toEqual(expected);
  });

  test('a citation behind a stop ends one, and is of the one before it', () => {
    const text = 'one. two and three';
    expect(sentencesOf(text, [4])).toEqual(['one.', 'two and three']);
    const parts = answerSentences(text, [4]);
    expect([0, 3, 4, 5, 18].map((at) => sentenceAt(parts, at))).toEqual([0, 0, 0, 0, 1]);
    expect(sentenceAt([], 0)).toBe(-1);
  });
});
