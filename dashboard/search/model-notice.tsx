import { call } from '../api/client';
import type { Collection } from '../api/shapes';
import { usePolling } from '../state/polling';
import { noticeOf } from './model-text';

const POLL_MS = 10_000;

/** Says so where texts of a collection are not compared by meaning although a model is configured; else nothing. */
export function ModelNotice({ collection }: { collection: Pick<Collection, 'embedding_model' | 'embedding'> }) {
  const health = usePolling('health', POLL_MS, (signal) => call<'get_health'>('GET', '/v1/health', { signal })).data;
  // Who chose it knows how it compares.
  const isChosen = collection.embedding?.model === 'local:builtin';
  const text = health === null || isChosen ? null : noticeOf(collection.embedding_model, health.embedding);
  return text === null ? null : (
    <p class="notice warn break" role="status">
      {text}
    </p>
  );
}
