import { NO_VERSION } from '../../../shared/contract/shard/shard-client';
import type { GoneItem, VectorInput, VectorView } from '../service';
import type { WantedChunk } from './document-facts';

/**
 * Pure: what has to change so that a document has the chunks that it is to have; in steps for work-slices.ts, because
 * there may be many thousands of them.
 */

/** The texts that there is no vector of, each once, in order. */
export function* textsToEmbed(
  wanted: readonly WantedChunk[],
  vectors: ReadonlyMap<string, Float32Array>,
): Generator<undefined, string[]> {
  const texts = new Set<string>();
  for (const { text } of wanted) {
    if (!vectors.has(text)) texts.add(text);
    yield;
  }
  return [...texts];
}

/** The vectors of stored chunks, by their texts: a text that is unchanged keeps its vector, wherever it is now. */
export function* vectorsByText(stored: readonly VectorView[]): Generator<undefined, Map<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>();
  for (const { text, vector } of stored) {
    if (text !== null && vector !== undefined) vectors.set(text, vector);
    yield;
  }
  return vectors;
}

/** One write: what is as it is to be already is not in it. It is done only where all is as it was read. */
export function* documentChanges(
  wanted: readonly WantedChunk[],
  stored: readonly VectorView[],
  { vectors, expiresAt }: { vectors: ReadonlyMap<string, Float32Array>; expiresAt: number | undefined },
): Generator<undefined, { puts: VectorInput[]; gone: GoneItem[] }> {
  const known = new Map<string, VectorView>();
  for (const chunk of stored) {
    known.set(chunk.externalId, chunk);
    yield;
  }
  const puts: VectorInput[] = [];
  for (const { externalId, text, metadata } of wanted) {
    yield;
    const before = known.get(externalId);
    known.delete(externalId);
    const isSame = before?.text === text && before.metadata === metadata && before.expiresAt === expiresAt;
    if (isSame) continue;
    puts.push({
      externalId,
      source: { vector: vectors.get(text)! },
      metadata,
      text,
      expected: before === undefined ? NO_VERSION : before.version,
      // Left out, an item keeps the time that it has.
      ...((expiresAt !== undefined || before?.expiresAt !== undefined) && { expiresAt: expiresAt ?? null }),
    });
  }
  return { puts, gone: [...known.values()].map(({ externalId, version }) => ({ externalId, expected: version })) };
}
