/** One message of a conversation with a language model. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatRequest {
  /** One of LLM_MODELS. */
  model: string;
  messages: readonly ChatMessage[];
  /** Of the answer, at most. */
  tokensMax: number;
}

/** Why an answer ended: by itself, at its most tokens, by a filter of the provider's, or because the time was over. */
export type ChatFinish = 'stop' | 'length' | 'content_filter' | 'deadline';

export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
}

/**
 * What a call that failed has used, as far as that is known: nothing, the prompt, or all that it may. In the details of
 * its error, with the usage if the provider had told that.
 */
export interface SpentDetails {
  spent: 'nothing' | 'prompt' | 'all';
  usage: TokenUsage | null;
}

/** What came since the last piece; `end` is in the last one. */
export interface ChatPiece {
  text: string;
  end?: {
    finish: ChatFinish;
    /** null: the provider does not say it. */
    usage: TokenUsage | null;
  };
}

/**
 * An answer as it is written; whoever has one calls `next` until it is done or fails, or `return`. Errors of `next`:
 * overloaded, unavailable, embedding_unavailable, with what the provider said, and without its key and address; with
 * {@link SpentDetails}.
 */
export interface ChatStream {
  next(): Promise<IteratorResult<ChatPiece, undefined>>;
  /** Ends the call of the provider at once, also while `next` waits; that is done then. */
  return(): Promise<IteratorResult<ChatPiece, undefined>>;
}

export interface LanguageModels {
  /** Calls a model. Errors: overloaded, when too many calls are under way. */
  chat(request: ChatRequest): Promise<ChatStream>;
}

/** About how many tokens a text is, rather too many: words have some four letters, other scripts three bytes a sign. */
export function estimatedTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3);
}
