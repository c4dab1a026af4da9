import { seededRandom } from '../seeded-random.mjs';

const SYLLABLES = ['ba', 'ke', 'lo', 'mi', 'nu', 'ra', 'se', 'ti', 'vo', 'zu'];
const WORDS_PER_TOPIC = 12;
const COMMON_WORDS = 60;
const DOCUMENTS_PER_TOPIC = 12;
const WORDS_PER_DOCUMENT = 40;

/**
 * A small retrieval task, the same for a seed on every machine: each topic has words of its own among common ones; the
 * documents of a topic hold many of its words or few, and its query asks with some of them. Those with many are
 * judged 2, those with few 1.
 */
export function makeTask({ topics, seed }) {
  const random = seededRandom(seed);
  const below = (limit) => Math.floor(random() * limit);
  const oneOf = (list) => list[below(list.length)];
  const word = () => Array.from({ length: 3 + below(2) }, () => oneOf(SYLLABLES)).join('');
  const common = Array.from({ length: COMMON_WORDS }, word);
  const documents = [];
  const queries = [];
  const judgements = new Map();
  for (let topic = 0; topic < topics; topic++) {
    const own = Array.from({ length: WORDS_PER_TOPIC }, word);
    const grades = new Map();
    for (let i = 0; i < DOCUMENTS_PER_TOPIC; i++) {
      const isAbout = i % 2 === 0;
      const words = Array.from({ length: WORDS_PER_DOCUMENT }, () =>
        random() < (isAbout ? 0.5 : 0.15) ? oneOf(own) : oneOf(common),
      );
      const id = `document-${topic}-${i}`;
      documents.push({ id, title: isAbout ? oneOf(own) : oneOf(common), text: `${words.join(' ')}.` });
      grades.set(id, isAbout ? 2 : 1);
    }
    queries.push({ id: `query-${topic}`, text: [oneOf(own), oneOf(own), oneOf(common)].join(' ') });
    judgements.set(`query-${topic}`, grades);
  }
  return { documents, queries, judgements };
}
