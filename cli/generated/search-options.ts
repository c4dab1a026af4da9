// Generated from the OpenAPI document; `UPDATE=1 npm test -- test/unit/cli/generated` writes it anew.

/**
 * The options of searches: what a value is, in a line what it does, and which searches have it (`only`; left out: all).
 */
export const SEARCH_OPTIONS = {
  positives: { kind: 'other', says: 'what results are like', only: ['plain', 'item'] },
  negatives: { kind: 'other', says: 'what results are unlike, in the same forms', only: ['plain', 'item'] },
  strategy: { kind: 'choice', choices: ['average', 'best_score'], says: '"average" (default)', only: ['plain', 'item'] },
  k: { kind: 'integer', says: 'default 10' },
  offset: { kind: 'integer', says: 'default 0' },
  filters: { kind: 'other', says: 'every pair must match' },
  ef: { kind: 'integer', says: 'search effort set by hand' },
  exact: { kind: 'boolean', says: 'compares with every vector' },
  fields: { kind: 'texts', says: 'paths of the metadata that results carry, such as "author.name"' },
  include_text: { kind: 'boolean', says: 'results also carry their text' },
  total: { kind: 'boolean', says: 'the answer also has `total_matches`' },
  order_by: { kind: 'other', says: 'orders the hits of the page by values of their metadata' },
  expand: { kind: 'other', says: 'results also carry `context`' },
  highlight: { kind: 'other', says: 'results also carry `highlights`' },
  group_by: { kind: 'string', says: 'a path of the metadata' },
  group_size: { kind: 'integer', says: 'hits of a group at most' },
  group_missing: { kind: 'choice', choices: ['leave_out', 'each'], says: 'items without such a value are left out (default), or each a group with the key null' },
  diversity: { kind: 'other', says: 'results that differ' },
  cursor: { kind: 'string', says: 'pages that continue each other, without offset and as far as the list goes' },
  explain: { kind: 'boolean', says: 'results also carry how they came to their places' },
  rerank: { kind: 'other', says: 'a model that reads the query’s text together with that of each of the best results puts these in another order' },
  min_score: { kind: 'number', says: 'results that score less are left out' },
  include_timing: { kind: 'boolean', says: '' },
  legs: { kind: 'other', says: 'in the place of query_text, vector and alpha', only: ['hybrid'] },
  mode: { kind: 'choice', choices: ['hybrid', 'keyword', 'vector'], says: 'says it by name', only: ['hybrid'] },
  match: { kind: 'other', says: 'how many of the words a hit of the keyword list has', only: ['hybrid'] },
  query_syntax: { kind: 'choice', choices: ['plain', 'simple'], says: 'with "simple", +word must and -word must not be there, for hits of both lists', only: ['hybrid'] },
  fuzzy: { kind: 'other', says: 'words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them', only: ['hybrid'] },
  prefix_last: { kind: 'boolean', says: 'the last word stands for the 50 most frequent words that begin so, too', only: ['hybrid'] },
  field_weights: { kind: 'other', says: 'how much keyword_fields of the collection count for this query, by path, such as {"title"', only: ['hybrid'] },
  fusion: { kind: 'other', says: 'what each list adds for a hit, times its weight', only: ['hybrid'] },
  score_scale: { kind: 'choice', choices: ['unit'], says: 'with "unit", scores are divided by the best that there can be, which is 1 then', only: ['hybrid'] },
} as const;
