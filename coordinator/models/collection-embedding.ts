/** Formats of a model's numbers that a collection may ask for; `auto`: the first of these that the model has. */
export const MODEL_DTYPES = ['auto', 'q8', 'fp32', 'int8', 'uint8', 'fp16', 'q4', 'bnb4', 'q4f16'] as const;
export type ModelDtype = (typeof MODEL_DTYPES)[number];

/** How texts of a collection become vectors, where it says so itself. */
export interface CollectionEmbedding {
  /** `local:` and the name of a model of this service, or a provider of EMBEDDING_PROVIDERS, `:` and its model. */
  model: string;
  /** Of a local model: which of its files. Absent: EMBEDDING_DTYPE. */
  dtype?: ModelDtype | undefined;
  /** Put before what is looked for, and before what is stored. Absent: what the model itself asks for. */
  queryPrefix?: string | undefined;
  passagePrefix?: string | undefined;
  /** Vectors are cut to so many numbers and have unit length again. Absent: they are whole. */
  truncateDim?: number | undefined;
  /** What a vector is made of (passage-template.ts). Absent: the text of an item alone. */
  template?: string | undefined;
}

/** What makes the vectors of a collection's texts. */
export interface ModelChoice {
  /** The name of the model of its first text; null: there was none yet. */
  embeddingModel: string | null;
  /** Absent: any model that is configured when its first text comes, as it is. */
  embedding?: CollectionEmbedding | undefined;
}

const LOCAL = 'local:';

/** The two parts of a model's name: `provider` is null of a local one. null: it has no such parts. */
export function modelParts(model: string): { provider: string | null; name: string } | null {
  const colon = model.indexOf(':');
  const name = model.slice(colon + 1);
  if (colon < 1 || name === '') return null;
  return { provider: model.startsWith(LOCAL) ? null : model.slice(0, colon), name };
}

/** What a collection of it names its model, and what callers may name it. */
export function modelNameOf({ model }: CollectionEmbedding): string {
  return model.startsWith(LOCAL) ? model.slice(LOCAL.length) : model;
}

/** Whether vectors that a caller says are of `given` are of the collection's model; null: it has none yet. */
export function isOfModel({ embeddingModel: own, embedding }: ModelChoice, given: string): boolean | null {
  if (own === null) return null;
  const names = embedding === undefined ? [own, LOCAL + own] : [own, embedding.model];
  return names.includes(given);
}

/** Both as one text, by which they are told apart. */
export function embeddingKey(embedding: CollectionEmbedding | undefined): string {
  if (embedding === undefined) return '';
  const { model, dtype, queryPrefix, passagePrefix, truncateDim } = embedding;
  return JSON.stringify([model, dtype ?? null, queryPrefix ?? null, passagePrefix ?? null, truncateDim ?? null]);
}
