import { PostingLists } from '../../../../../node/engine/keyword/posting-lists';
import { UNION_PART_MAX, UnionReader } from '../../../../../node/engine/keyword/union-reader';

/** So many lists, of which each document is in one. */
function readerOf(listCount: number, documentCount: number): UnionReader {
  const lists = new PostingLists();
  lists.reserve(listCount);
  for (let document = 0; document < documentCount; document++)
    lists.append(document % listCount, document, 1 + (document % 3), 1);
  const terms = Array.from({ length: listCount }, (_, term) => ({ term, factor: 1 }));
  return new UnionReader(lists, terms, documentCount);
}

test.each([
  { listCount: 2, size: 512 },
  { listCount: 1_000, size: 4_096 },
  // A part of 512 documents would look at each list for every 39 of them.
  { listCount: 20_000, size: UNION_PART_MAX },
])('of $listCount lists, parts are so large that looking at each list pays, and no document is lost', (given) => {
  const documentCount = 20_000;
  const reader = readerOf(given.listCount, documentCount);
  expect(reader.part.length).toBe(given.size);
  for (let document = 0; document < documentCount; document++) {
    if (reader.next !== document || reader.frequency !== 1 + (document % 3)) expect(reader.next).toBe(document);
    reader.advance();
  }
  expect(reader.count).toBe(0);
});
