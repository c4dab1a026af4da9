/** The prefix that a model expects before a text, by what the text is for. */
export interface Prompts {
  query: string;
  passage: string;
}

const NONE: Prompts = { query: '', passage: '' };
const ENGLISH_INSTRUCTION = 'Represent this sentence for searching relevant passages: ';
const CHINESE_INSTRUCTION = '为这个句子生成表示以用于检索相关文章：';

/**
 * Families whose model cards ask for prefixes, by the last part of the model's name; the first match counts. Used for
 * models whose folder does not define prefixes.
 */
const FAMILIES: [RegExp, Prompts][] = [
  [
    /^(multilingual-)?e5-.*instruct/i,
    {
      query: 'Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ',
      passage: '',
    },
  ],
  [/^(multilingual-)?e5-/i, { query: 'query: ', passage: 'passage: ' }],
  [/^bge-m3/i, NONE],
  [/^bge-.*-zh/i, { query: CHINESE_INSTRUCTION, passage: '' }],
  [/^bge-(small|base|large)/i, { query: ENGLISH_INSTRUCTION, passage: '' }],
  [/^mxbai-embed-/i, { query: ENGLISH_INSTRUCTION, passage: '' }],
  [/^snowflake-arctic-embed-.*v2/i, { query: 'query: ', passage: '' }],
  [/^snowflake-arctic-embed-/i, { query: ENGLISH_INSTRUCTION, passage: '' }],
  [/^nomic-embed-text/i, { query: 'search_query: ', passage: 'search_document: ' }],
];

/** Names under which config_sentence_transformers.json keeps the prompt of a passage. */
const PASSAGE_PROMPTS = ['passage', 'document', 'corpus'];

/**
 * The prefixes of a model: those of its config_sentence_transformers.json (`prompts`, otherwise `default_prompt_name`
 * for both) if it has any, otherwise those of its family.
 */
export function promptsOf(name: string, config: Readonly<Record<string, unknown>> | null): Prompts {
  const prompts = isRecord(config?.prompts) ? config.prompts : {};
  const named = (key: unknown): string | undefined => {
    const prompt = typeof key === 'string' && Object.hasOwn(prompts, key) ? prompts[key] : undefined;
    return typeof prompt === 'string' ? prompt : undefined;
  };
  const fallback = named(config?.default_prompt_name);
  const query = named('query') ?? fallback;
  const passage = PASSAGE_PROMPTS.map(named).find((prompt) => prompt !== undefined) ?? fallback;
  if (query !== undefined || passage !== undefined) return { query: query ?? '', passage: passage ?? '' };
  const last =
    name
      .replace(/(?<![\\/])[\\/]+$/, '')
      .split(/[\\/]/)
      .at(-1) ?? name;
  return FAMILIES.find(([pattern]) => pattern.test(last))?.[1] ?? NONE;
}

/** Whether a model of that name uses the vector of the first token for the text: bge and related families. */
export function poolsFirstToken(name: string): boolean {
  return /^(bge|mxbai-embed|snowflake-arctic-embed)-/i.test(
    name
      .replace(/(?<![\\/])[\\/]+$/, '')
      .split(/[\\/]/)
      .at(-1) ?? name,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
