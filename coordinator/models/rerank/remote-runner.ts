import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { type PostAnswer, postJson } from '../remote/json-post';
import { modelFailure } from '../transformers/model-failure';
import type { PairRunner } from './pair-dispatcher';

/** Forms of servers that rerank: Text Embeddings Inference, and the one of Cohere, Jina, vLLM and others. */
export type RemoteForm = 'tei' | 'cohere';

export interface RemoteAddress {
  form: RemoteForm;
  /** The address that is called. */
  url: string;
  /** What the server calls the model; '': it has one. */
  model: string;
}

/** What servers take at once without being told to take more. */
const TEXTS_MAX = 32;
/** Of an answer: some dozens of places and numbers. */
const ANSWER_BYTES_MAX = 1024 * 1024;

/** Scores pairs by a server that the configuration names. Its messages tell neither its address nor its key. */
export class RemoteRunner implements PairRunner {
  readonly textsMax = TEXTS_MAX;
  readonly ended: Promise<void>;
  private readonly abort = new AbortController();
  private resolveEnded: () => void = () => undefined;

  constructor(private readonly options: { name: string; remote: RemoteAddress; apiKey: string; timeoutMs: number }) {
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
  }

  async score(query: string, texts: string[]): Promise<number[]> {
    const { name, remote, apiKey, timeoutMs } = this.options;
    const body =
      remote.form === 'tei'
        ? { query, texts, raw_scores: false, truncate: true }
        : { query, documents: texts, top_n: texts.length, ...(remote.model !== '' && { model: remote.model }) };
    let posted: PostAnswer;
    try {
      posted = await postJson({
        url: remote.url,
        apiKey,
        body,
        bytesMax: ANSWER_BYTES_MAX,
        timeoutMs,
        signal: this.abort.signal,
      });
    } catch (cause) {
      throw new QuiverError('unavailable', `The rerank model "${name}" does not answer; the call may be retried`, {
        cause,
      });
    }
    const { status, json } = posted;
    if (status === 429) throw new QuiverError('overloaded', `The rerank model "${name}" is busy; try again later`);
    if (json === undefined) throw new QuiverError('unavailable', `The rerank model "${name}" answers ${status}`);
    return scoresIn(json, remote.form, texts.length, name);
  }

  async close(): Promise<void> {
    this.giveUp();
  }

  giveUp(): void {
    this.abort.abort();
    this.resolveEnded();
  }
}

/** By place. Errors: embedding_unavailable when there is not one number for each text. */
export function scoresIn(answer: unknown, form: RemoteForm, count: number, name: string): number[] {
  const rows = form === 'tei' ? answer : (answer as { results?: unknown } | null)?.results;
  const scores = new Array<number>(count);
  let found = 0;
  for (const row of Array.isArray(rows) ? (rows as unknown[]) : []) {
    const { index, score, relevance_score: relevance } = (row ?? {}) as Record<string, unknown>;
    const value = form === 'tei' ? score : (relevance ?? score);
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) continue;
    if (typeof value !== 'number' || !Number.isFinite(value) || scores[index] !== undefined) continue;
    scores[index] = Math.min(1, Math.max(0, value));
    found += 1;
  }
  if (found !== count) throw modelFailure(`The rerank model "${name}" does not answer one score for each text`);
  return scores;
}
