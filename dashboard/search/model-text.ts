import type { Health } from '../api/shapes';

/** It compares words. */
const BUILTIN = 'builtin';

/**
 * Why texts of a collection are not compared by meaning; null: they are, or nobody wants it. `model`: that the
 * collection has recorded; null: it has no texts yet.
 */
export function noticeOf(
  model: string | null,
  { configured, fallback_reason: reason }: Pick<Health['embedding'], 'configured' | 'fallback_reason'>,
): string | null {
  if (configured === BUILTIN || (model !== null && model !== BUILTIN && model !== configured)) return null;
  if (model === configured) return reason === null ? null : `Nothing can be searched by text at present. ${reason}.`;
  if (reason !== null) return `Texts are compared by words, not by meaning. ${reason}.`;
  return model === null
    ? null
    : `Texts are compared by words, not by meaning: ${configured} could not be loaded when they were stored. A new collection has it.`;
}
