import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { EmbeddingRunner, EncodedTexts } from '../transformers/embedding-thread';
import { modelFailure, TextFailure } from '../transformers/model-failure';
import { embeddingsIn, type EmbeddingsAnswer } from './embeddings-answer';
import { type PostAnswer, postJson } from './json-post';
import type { Pauses, ProviderGate } from './provider-gate';
import { guessedTokens, type TokenBudget } from './token-budget';

/** Attempts of a call that a server can't answer at present. */
const ATTEMPTS_MAX = 6;
/** The first pause between two; each is twice as long as the one before, and so much shorter by chance at most. */
const FIRST_PAUSE_MS = 250;
const JITTER = 0.25;
/** A text that tells the dimension. */
const PROBE = 'dimension';
/** Of a number as text, and of what stands around the numbers of a vector. */
const NUMBER_BYTES_MAX = 32;
const ROW_BYTES_MAX = 512;
const HEAD_BYTES_MAX = 65_536;

/** Told of every call. */
export interface RemoteObserver {
  call(provider: string, texts: number, tokens: number, durationMs: number): void;
  cached(provider: string, texts: number): void;
  failure(provider: string): void;
}

export interface RemoteEmbedderOptions {
  /** As collections have it: the provider, a colon, the model. */
  name: string;
  provider: string;
  model: string;
  /** The address that is called. */
  url: string;
  apiKey: () => string;
  encoding: 'base64' | 'float';
  dimMax: number;
  /** Longest time of a call with all its attempts. */
  timeoutMs: number;
  gate: ProviderGate;
  budget: Pick<TokenBudget, 'take' | 'settle'>;
  observer: RemoteObserver;
  /** Gets what each call has made, texts × dim, so that nothing is asked for twice when others of a request fail. */
  onVectors?: ((texts: readonly string[], vectors: Float32Array, dim: number) => void) | undefined;
  pauses: Pauses;
  random: () => number;
}

/**
 * Embeds by a server of the OpenAI protocol that the configuration names. What it can't answer at present is tried
 * again, later each time, or when it says. Messages tell neither its address, nor its key, nor what it says itself.
 */
export class RemoteEmbedder implements EmbeddingRunner {
  /** Each text is embedded by itself; whether that holds is the server's affair. */
  readonly isInvariant = true;
  readonly ended: Promise<void>;
  /** 0: not known yet. */
  dim = 0;
  private readonly abort = new AbortController();
  private resolveEnded: () => void = () => undefined;

  constructor(private readonly options: RemoteEmbedderOptions) {
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
  }

  async embed(texts: string[]): Promise<EncodedTexts> {
    const { provider, pauses, observer } = this.options;
    const startMs = pauses.monotonicMs();
    try {
      const answer = await this.answered(texts, startMs + this.options.timeoutMs);
      observer.call(provider, texts.length, answer.tokens, pauses.monotonicMs() - startMs);
      this.options.onVectors?.(texts, answer.vectors, answer.dim);
      return { vectors: answer.vectors };
    } catch (error) {
      observer.failure(provider);
      throw error;
    }
  }

  /** The length of the vectors that it makes now. Errors: as embed. */
  async probe(): Promise<number> {
    const { provider, pauses, observer, timeoutMs } = this.options;
    const startMs = pauses.monotonicMs();
    try {
      const { dim, tokens } = await this.answered([PROBE], startMs + timeoutMs, true);
      observer.call(provider, 1, tokens, pauses.monotonicMs() - startMs);
      return (this.dim = dim);
    } catch (error) {
      observer.failure(provider);
      throw error;
    }
  }

  /** It says how many tokens it reads of a text to nobody. */
  measure(texts: string[]): Promise<number[]> {
    return Promise.resolve(texts.map(() => 0));
  }

  async close(): Promise<void> {
    this.giveUp();
  }

  giveUp(): void {
    this.abort.abort();
    this.resolveEnded();
  }

  private async answered(
    texts: string[],
    untilMs: number,
    isProbe = false,
  ): Promise<EmbeddingsAnswer & { tokens: number }> {
    const { gate, pauses, random } = this.options;
    const { signal } = this.abort;
    for (let attempt = 1; ; attempt += 1) {
      await gate.turn(untilMs, signal);
      const { answer, failure, retryAfterMs } = await this.attempt(texts, untilMs, isProbe);
      if (answer !== undefined) return answer;
      const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (1 - JITTER * random());
      const isOver = attempt === ATTEMPTS_MAX || pauses.monotonicMs() + (retryAfterMs ?? pauseMs) >= untilMs;
      // Who is told when to come again keeps others from coming before.
      if (retryAfterMs !== null && retryAfterMs !== undefined) gate.close(retryAfterMs);
      if (isOver || signal.aborted) throw failure;
      if (retryAfterMs === null || retryAfterMs === undefined) await pauses.pause(pauseMs, signal);
    }
  }

  /** Either the answer, or why there is none at present. Errors: those that another attempt would not help. */
  private async attempt(
    texts: string[],
    untilMs: number,
    isProbe: boolean,
  ): Promise<{
    answer?: EmbeddingsAnswer & { tokens: number };
    failure?: QuiverError;
    retryAfterMs?: number | null;
  }> {
    const { name, model, url, apiKey, encoding, dimMax, budget, pauses } = this.options;
    const estimate = guessedTokens(texts);
    const leftMs = untilMs - pauses.monotonicMs();
    const away = `The embedding model "${name}" does not answer; the call may be retried`;
    if (leftMs <= 0) return { failure: new QuiverError('unavailable', away) };
    await budget.take(estimate);
    let spent = 0;
    try {
      let posted: PostAnswer;
      try {
        posted = await postJson({
          url,
          apiKey: apiKey(),
          body: { model, input: texts, encoding_format: encoding },
          bytesMax:
            HEAD_BYTES_MAX +
            texts.length * (ROW_BYTES_MAX + (isProbe ? dimMax : this.dim || dimMax) * NUMBER_BYTES_MAX),
          timeoutMs: leftMs,
          signal: this.abort.signal,
        });
      } catch (cause) {
        return { failure: new QuiverError('unavailable', away, { cause }) };
      }
      const { status, json, retryAfterMs } = posted;
      if (status === 429)
        return {
          failure: new QuiverError('overloaded', `The embedding model "${name}" is busy (429); try again later`),
          retryAfterMs,
        };
      if (status >= 500 || status === 408)
        return {
          failure: new QuiverError('unavailable', `The embedding model "${name}" answers ${status}`),
          retryAfterMs,
        };
      if (json === undefined) throw refusal(name, status);
      // What can't be read has its price, too.
      spent = estimate;
      const answer = embeddingsIn(json, texts.length, name);
      spent = answer.tokens ?? estimate;
      if (!isProbe && this.dim !== 0 && answer.dim !== this.dim)
        throw modelFailure(
          `The embedding model "${name}" answers vectors of ${answer.dim} numbers, and not of ${this.dim}`,
        );
      if (answer.dim > dimMax)
        throw modelFailure(
          `The embedding model "${name}" answers ${answer.dim} numbers, more than ${dimMax} (MAX_VECTOR_DIM)`,
        );
      if (this.dim === 0) this.dim = answer.dim;
      return { answer: { ...answer, tokens: spent } };
    } finally {
      budget.settle(estimate, spent);
    }
  }
}

/** Of a status that stays the same whenever it is asked again. */
function refusal(name: string, status: number): QuiverError {
  if (status === 401 || status === 403)
    return modelFailure(`The embedding model "${name}" can't be used: its server does not take the key (${status})`);
  if (status === 402)
    return modelFailure(`The embedding model "${name}" can't be used: its server asks to be paid (402)`);
  if (status === 404) return modelFailure(`The embedding model "${name}" is not there: its server answers 404`);
  if (status >= 300 && status < 400)
    return modelFailure(`The embedding model "${name}" can't be used: its server sends elsewhere (${status})`);
  return new RefusedText(name, status);
}

/** The server takes not all of the texts; those that it takes may be embedded without the others. */
export class RefusedText extends TextFailure {
  constructor(name: string, status: number) {
    super(`The embedding model "${name}" does not take a text: its server answers ${status}`);
  }
}
