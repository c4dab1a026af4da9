import { TopDocuments } from '../../../../../node/engine/keyword/top-documents';
import { seededRandom } from '../../../../support/values/random';

test.each([1, 7, 300, 5_000])('without names, the best %i are there in any order', (k) => {
  const random = seededRandom(k);
  // Many tie.
  const scores = Array.from({ length: 4_000 }, () => Math.floor(random() * 50));
  const named = jest.fn(String);
  const [ordered, unordered] = [named, null].map((nameOf) => {
    const top = new TopDocuments(k, scores.length, nameOf);
    for (const [document, score] of scores.entries()) top.add(document, score);
    return top.take();
  });
  expect(named).toHaveBeenCalled();
  expect([...unordered.scores].sort((a, b) => b - a)).toEqual([...ordered.scores]);
  expect(Array.from(unordered.documents, (document) => scores[document])).toEqual([...unordered.scores]);
  expect(new Set(unordered.documents).size).toBe(Math.min(k, scores.length));
});
