import type { RecordStore } from '../../records/record-store';
import { parsedMetadata, type ShardIndexes } from '../shard-indexes';
import { type PhraseItems, PhraseMatches } from './phrase-matches';

/** The phrases of a shard's items. */
export function phraseMatches(
  records: RecordStore,
  indexes: () => ShardIndexes,
  { analyser, fields }: Pick<PhraseItems, 'analyser' | 'fields'>,
): PhraseMatches {
  return new PhraseMatches(
    {
      analyser,
      fields,
      candidates: (condition) => indexes().keywords.slotsWithWords(condition),
      isCandidate: (slot, condition) => indexes().keywords.hasWords(slot, condition),
      read: async (slots) => {
        const { directory } = indexes();
        const live = slots.filter((slot) => directory.isLive(slot));
        const metadata = live.map((slot) => directory.metadataOf(slot));
        const withText = live.filter((slot) => directory.hasText(slot));
        const texts =
          withText.length === 0 ? [] : await records.readTexts(withText.map((slot) => directory.recnoOf(slot)));
        const textOf = new Map(withText.map((slot, i) => [slot, texts[i]]));
        const read = new Map(
          live.map((slot, i) => [slot, { text: textOf.get(slot) ?? null, metadata: parsedMetadata(metadata[i]) }]),
        );
        return slots.map((slot) => read.get(slot) ?? null);
      },
    },
    (slots) => indexes().filters.wordsChanged(slots),
  );
}
