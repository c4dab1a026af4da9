import type { EmbeddingStatus } from './embedding-provider';

/** What people are told where the configured model can't be had and `builtin` stands in; null: it can. */
export function fallbackNotice({ fallbackReason }: Pick<EmbeddingStatus, 'fallbackReason'>): string | null {
  return fallbackReason === null ? null : `Texts are compared by words, not by meaning. ${fallbackReason}.`;
}
