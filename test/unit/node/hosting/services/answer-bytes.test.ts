import { AnswerBytes, sharedAnswerBytes } from '../../../../../node/hosting/services/answer-bytes';

const KIB = 1024;
const overloaded = expect.objectContaining({ kind: 'overloaded' });

function refusal(answers: AnswerBytes, queued: number, bytes: number): unknown {
  try {
    answers.mustHaveRoom(queued, bytes);
    return null;
  } catch (error) {
    return error;
  }
}

test('a stream may hold as much as is left for the others; small answers always go', () => {
  const answers = new AnswerBytes({ bytesMax: 1000 * KIB });
  answers.add(500 * KIB);
  expect(refusal(answers, 500 * KIB, 17 * KIB)).toEqual(overloaded);
  expect(refusal(answers, 500 * KIB, KIB)).toBeNull();
  expect(refusal(answers, 0, 500 * KIB)).toBeNull();
  expect(refusal(answers, 0, 501 * KIB)).toEqual(overloaded);
});

test('one that is larger than the bound goes alone', () => {
  expect(refusal(new AnswerBytes({ bytesMax: 100 * KIB }), 0, 500 * KIB)).toBeNull();
});

test('threads share the bound', () => {
  const shared = sharedAnswerBytes(2);
  const [one, other] = [0, 1].map((place) => new AnswerBytes({ bytesMax: 100 * KIB, shared, place }));
  one.add(80 * KIB);
  other.add(5 * KIB);
  expect(other.held).toBe(85 * KIB);
  expect(refusal(other, 0, 20 * KIB)).toEqual(overloaded);
  one.add(-80 * KIB);
  expect(refusal(other, 0, 20 * KIB)).toBeNull();
});
