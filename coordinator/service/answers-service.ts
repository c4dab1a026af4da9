import type { AnswerHold } from './answer-hold';
import type { KeyWriter } from './keys/quota/key-quota';
import type { SearchRequest } from './search-request';

/** What is said before a question: as a model's own messages. */
export interface EarlierMessage {
  role: 'user' | 'assistant';
  content: string;
}

export interface AnswerRequest {
  collection: string;
  question: string;
  /** By which passages are found; its page is how many. */
  search: SearchRequest;
  /** undefined: the default one. */
  model: string | undefined;
  tokensMax: number;
  history: readonly EarlierMessage[];
}

/** A passage that the model was given. */
export interface AnswerSource {
  /** As the prompt calls it, from 1. */
  number: number;
  externalId: string;
  score: number;
  /** What its metadata say of its place in a document; absent: they don't. */
  documentId?: string | number;
  /** The caller's own id of it, as a path. */
  documentKey?: string;
  chunkIndex?: number;
  page?: number;
  start?: number;
  end?: number;
  headings?: readonly string[];
  /** The file that it is of. */
  source?: string;
  text: string;
  /** Of a text with neighbours: where its chunks stand in it, in order; absent: it is one. */
  chunks?: readonly (ChunkIdentity & { at: number; end: number })[];
}

/** A chunk of a document, and where it says that it is. */
export interface ChunkIdentity {
  externalId: string;
  documentId?: string | number;
  page?: number;
}

/** Words of a source that a sentence is supported by, as they stand there. */
export interface AnswerCitation {
  source: AnswerSource;
  /** The chunk that has it, or that it begins in: of a source with neighbours, perhaps not that which was found. */
  chunk: ChunkIdentity;
  /** UTF-16 code units of the source's text: the first, and the first behind. */
  start: number;
  end: number;
  quote: string;
}

export interface AnswerSentence {
  text: string;
  citations: readonly AnswerCitation[];
}

/** Why the model stopped; null: it was not asked. */
export type AnswerFinish = 'stop' | 'length' | 'content_filter' | 'deadline' | null;

export interface AnswerView {
  /** Without marks of citations: the texts of the sentences, with what is between them. */
  text: string;
  sentences: readonly AnswerSentence[];
  sources: readonly AnswerSource[];
  /** Nothing relevant was found, so no model was asked. */
  refused: boolean;
  model: string | null;
  finish: AnswerFinish;
  /** Quotes of the model that are not in the source which it named. */
  droppedQuotes: number;
  /** `isEstimated`: the provider did not say it. */
  usage: { promptTokens: number; completionTokens: number; isEstimated: boolean };
  timing: {
    embeddingMs: number;
    /** With embedding and reranking, until the prompt is made. */
    retrievalMs: number;
    /** From the call of the model; null: it wrote nothing. */
    firstTokenMs: number | null;
    modelMs: number;
    checkingMs: number;
    totalMs: number;
  };
}

export type AnswerStep =
  /** The first: what was found. */
  | { type: 'sources'; sources: readonly AnswerSource[] }
  /** More of the answer's text. */
  | { type: 'text'; text: string };

/** An answer as it is made; its value at the end is the whole. */
export interface AnswerSteps {
  /** Errors: overloaded, unavailable, embedding_unavailable, with what the provider says. */
  next(): Promise<IteratorResult<AnswerStep, AnswerView>>;
  /** Ends it at once, also while `next` waits, and with it the call of the model. */
  return(): Promise<IteratorResult<AnswerStep, AnswerView>>;
}

export interface AnswersService {
  /**
   * Finds passages for a question, has a model answer from them, and checks what it quotes. What comes before the
   * model's call is done when this resolves. Errors: those of a search; invalid_parameter without a language model, or
   * for one that there is not; rate_limited when the caller's tokens of the day are used up.
   */
  answer(
    request: AnswerRequest,
    caller: {
      identity: KeyWriter['identity'] | null;
      hold?: AnswerHold;
      warn?: (message: string) => void;
    },
  ): Promise<AnswerSteps>;
}

/** What became of an answer, to be counted. */
export interface AnswerFacts {
  outcome: 'answered' | 'refused' | 'failed' | 'abandoned';
  quotesFound: number;
  quotesDropped: number;
  sentences: number;
  unsupported: number;
}
