import { join } from 'node:path';
import { readStoreStamp } from '../../kv/store-stamp';
import { analysedLines } from '../../keyword/keyword-text';
import { PhrasePositions } from '../../positions/phrase-positions';
import { POSITIONS_FOLDER } from '../../positions/position-segments';
import type { RecordStore } from '../../records/record-store';
import { parsedMetadata, type ShardIndexes } from '../shard-indexes';
import type { ShardLogger } from '../shard-options';
import type { ShardCounters } from '../writing/shard-writer';
import { type PhraseItems, PhraseMatches } from './phrase-matches';

interface PhraseParts extends Pick<PhraseItems, 'analyser' | 'fields'> {
  /** Of the shard. */
  folder: string;
  records: RecordStore;
  indexes: () => ShardIndexes;
  counters: () => ShardCounters;
  logger: ShardLogger;
  keepsPositions: boolean;
}

/** The phrases of a shard's items. */
export function phraseMatches({
  folder,
  records,
  indexes,
  counters,
  logger,
  analyser,
  fields,
  keepsPositions,
}: PhraseParts): PhraseMatches {
  const read: PhraseItems['read'] = async (slots) => {
    const { directory } = indexes();
    const live = slots.filter((slot) => directory.isLive(slot));
    const metadata = live.map((slot) => directory.metadataOf(slot));
    const withText = live.filter((slot) => directory.hasText(slot));
    const texts = withText.length === 0 ? [] : await records.readTexts(withText.map((slot) => directory.recnoOf(slot)));
    const textOf = new Map(withText.map((slot, i) => [slot, texts[i]]));
    const found = new Map(
      live.map((slot, i) => [slot, { text: textOf.get(slot) ?? null, metadata: parsedMetadata(metadata[i]) }]),
    );
    return slots.map((slot) => found.get(slot) ?? null);
  };
  const slots = {
    isLive: (slot: number) => indexes().directory.isLive(slot),
    recnoOf: (slot: number) => indexes().directory.recnoOf(slot),
    liveSlots: () => indexes().directory.liveSlots(),
    get liveCount() {
      return indexes().directory.liveCount;
    },
  };
  const positions = new PhrasePositions(
    join(folder, POSITIONS_FOLDER),
    {
      slots,
      keywords: () => indexes().keywords,
      lines: async (wanted) =>
        (await read(wanted)).map((item) => item && analysedLines(item.text, item.metadata, { fields, analyser })),
      stabilise: async () => {
        if (!records.isOnlyRead) await records.stabilise(counters().lastOperation);
      },
      store: async () => (await readStoreStamp(join(folder, 'records')))?.store ?? '',
    },
    logger,
  );
  return new PhraseMatches(
    {
      analyser,
      fields,
      candidates: (condition) => indexes().keywords.slotsWithWords(condition),
      isCandidate: (slot, condition) => indexes().keywords.hasWords(slot, condition),
      read,
    },
    (changed) => indexes().filters.wordsChanged(changed),
    keepsPositions ? positions : null,
  );
}
