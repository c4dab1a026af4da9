import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { NO_VERSION } from '../../../shared/contract/shard/shard-client';
import type { GoneItem, VectorInput, VectorView } from '../service';
import type { WantedChunk } from './document-facts';

/**
 * Pure: what has to change so that a document has the chunks that it is to have; in steps for work-slices.ts, because
 * there may be many thousands of them.
 */

/** What the vector of a chunk is made of; null: it has nothing of that. */
export type PassageOf = (chunk: Pick<VectorView, 'text' | 'metadata'>) => string | null;

/** The texts that there is no vector of, each once, in order. Errors: invalid_parameter where a chunk has none. */
export function* textsToEmbed(
  wanted: readonly WantedChunk[],
  vectors: ReadonlyMap<string, Float32Array>,
  passageOf: PassageOf,
): Generator<undefined, string[]> {
  const texts = new Set<string>();
  for (const chunk of wanted) {
    const text = passageOf(chunk);
    if (text === null)
      throw new QuiverError(
        'invalid_parameter',
        'a chunk has no field of what vectors of the collection are made of (embedding.template): give it in metadata',
      );
    if (!vectors.has(text)) texts.add(text);
    yield;
  }
  return [...texts];
}

/** The vectors of stored chunks, by what they are made of: where that is unchanged, they stay, wherever it is now. */
export function* vectorsByText(
  stored: readonly VectorView[],
  passageOf: PassageOf,
): Generator<undefined, Map<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>();
  for (const chunk of stored) {
    const text = chunk.vector === undefined ? null : passageOf(chunk);
    if (text !== null) vectors.set(text, chunk.vector!);
    yield;
  }
  return vectors;
}

/** One write: what is as it is to be already is not in it. It is done only where all is as it was read. */
export function* documentChanges(
  wanted: readonly WantedChunk[],
  stored: readonly VectorView[],
  {
    vectors,
    passageOf,
    expiresAt,
  }: { vectors: ReadonlyMap<string, Float32Array>; passageOf: PassageOf; expiresAt: number | undefined },
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
      source: { vector: vectors.get(passageOf({ text, metadata })!)! },
      metadata,
      text,
      expected: before === undefined ? NO_VERSION : before.version,
      // Left out, an item keeps the time that it has.
      ...((expiresAt !== undefined || before?.expiresAt !== undefined) && { expiresAt: expiresAt ?? null }),
    });
  }
  return { puts, gone: [...known.values()].map(({ externalId, version }) => ({ externalId, expected: version })) };
}
