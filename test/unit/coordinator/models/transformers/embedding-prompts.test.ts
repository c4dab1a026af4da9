import { promptsOf } from '../../../../../coordinator/models/transformers/prompts';

describe('prefixes of queries and passages', () => {
  test.each([
    ['Xenova/all-MiniLM-L6-v2', '', ''],
    ['Xenova/e5-small-v2', 'query: ', 'passage: '],
    ['/srv/models/multilingual-e5-base/', 'query: ', 'passage: '],
    ['Xenova/bge-small-en-v1.5', 'Represent this sentence for searching relevant passages: ', ''],
    ['Xenova/bge-base-zh-v1.5', '为这个句子生成表示以用于检索相关文章：', ''],
    ['Xenova/bge-m3', '', ''],
    ['nomic-ai/nomic-embed-text-v1.5', 'search_query: ', 'search_document: '],
  ])('%s by its family', (name, query, passage) => {
    expect(promptsOf(name, null)).toEqual({ query, passage });
  });

  test('what the model says itself wins', () => {
    expect(promptsOf('Xenova/e5-small', { prompts: { query: 'Q: ', document: 'D: ' } })).toEqual({
      query: 'Q: ',
      passage: 'D: ',
    });
    expect(promptsOf('any', { prompts: { both: 'B: ' }, default_prompt_name: 'both' })).toEqual({
      query: 'B: ',
      passage: 'B: ',
    });
    expect(promptsOf('any', { prompts: { query: 'Q: ' } })).toEqual({ query: 'Q: ', passage: '' });
    expect(promptsOf('any', { prompts: {}, default_prompt_name: null })).toEqual({ query: '', passage: '' });
    expect(promptsOf('any', { prompts: { query: 3 }, default_prompt_name: 'constructor' })).toEqual({
      query: '',
      passage: '',
    });
  });
});
