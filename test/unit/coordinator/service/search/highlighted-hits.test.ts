import {
  highlightedHits,
  HIGHLIGHTED_UNITS_MAX,
  NEAREST_SENTENCES_MAX,
} from '../../../../../coordinator/service/search/highlighted-hits';
import type { FoundHits, ScoredHit } from '../../../../../coordinator/service/service';
import { defaultAnalyser } from '../../../../../shared/base/text/analyser';

const hits: ScoredHit[] = ['One. Two.', '', 'Three. Four.'].map((text, i) => ({
  externalId: `${i}`,
  score: 1,
  metadata: '{}',
  text,
}));

/** The highlights of the hits where `embed` makes the vectors; undefined: a hit has none. */
async function nearestBy(embed: (texts: string[]) => Promise<Float32Array[]>): Promise<(string[] | undefined)[]> {
  const sought = { analyser: defaultAnalyser, terms: new Set<string>(), phrases: [] };
  const marking = {
    ...{ fields: ['text'], fragments: 2, size: 100, pre: '', post: '', by: 'meaning' as const, texts: false },
    sought: { of: () => sought, noted: sought.terms },
    nearest: { vector: Float32Array.of(0, 1), metric: 'ip' as const, embed },
    budget: { unitsLeft: HIGHLIGHTED_UNITS_MAX, sentencesLeft: NEAREST_SENTENCES_MAX },
  };
  const shown: (string[] | undefined)[] = [];
  for await (const page of highlightedHits<FoundHits>({ hits }, marking).later!.pagesOf(hits))
    shown.push(...page.map(({ highlights }) => highlights?.map(({ text }) => text)));
  return shown;
}

test('the sentences of all hits are embedded at once', async () => {
  const asked: string[][] = [];
  const shown = await nearestBy(async (texts) => {
    asked.push(texts);
    return texts.map((_, i) => Float32Array.of(0, [1, 2, 4, 3][i]));
  });
  expect(asked).toEqual([['One.', 'Two.', 'Three.', 'Four.']]);
  expect(shown).toEqual([['Two.'], [], ['Three.']]);
});

test('hits without highlights are answered where sentences cannot be embedded', async () => {
  expect(await nearestBy(() => Promise.reject(new Error('too busy')))).toEqual([undefined, [], undefined]);
});
