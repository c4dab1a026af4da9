import type { UmapNews, UmapTask } from './umap-messages';

/** The worker's address, which the build puts here. */
declare const UMAP_WORKER: string;

/** Starts a UMAP beside the page; `onNews` hears of it until it is done or stopped by what this answers. */
export function startUmap(task: UmapTask, onNews: (news: UmapNews) => void): () => void {
  const worker = new Worker(new URL(UMAP_WORKER, import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<UmapNews>) => onNews(data));
  worker.addEventListener('error', (event) =>
    onNews({ type: 'failed', reason: event.message || 'the worker could not be started' }),
  );
  worker.postMessage(task);
  return () => worker.terminate();
}
