import { LANGUAGES } from '../../../shared/base/text/language';
import { dataOf, errorOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import type { SuiteContext } from '../api-suite';

const TEXTS = [
  'The runner ran out of water',
  'She runs every morning',
  'Résumés of older candidates',
  'To be, or not to be',
  '東京都の天気',
];

export function languagesSuite(context: SuiteContext): void {
  describe('the language of keyword text', () => {
    const find = async (name: string, query: string): Promise<string[]> => {
      const answer = await context.api.post(`/v1/collections/${name}/hybrid_search`, {
        query_text: query,
        vector: [1, 0, 0],
        alpha: 0,
      });
      return dataOf(answer)
        .results.map(({ external_id }: { external_id: string }) => external_id)
        .sort();
    };
    const filled = async (fields: Record<string, unknown>): Promise<string> => {
      const name = await context.collection(fields);
      const items = TEXTS.map((text, i) => ({ external_id: `t${i}`, vector: [1, i, 0], text }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      return name;
    };

    test('is none unless given, and shown', async () => {
      for (const [fields, language] of [
        [{}, null],
        [{ language: null }, null],
        [{ language: 'de' }, 'de'],
      ] as const) {
        const name = await context.collection(fields);
        expect(dataOf(await context.api.get(`/v1/collections/${name}`)).language).toBe(language);
        expect(dataOf(await context.api.get('/v1/collections')).collections).toContainEqual(
          expect.objectContaining({ name, language }),
        );
        expect(dataOf(await context.api.patch(`/v1/collections/${name}`, { description: 'd' })).language).toBe(
          language,
        );
      }
    });

    test('shows how texts and queries are cut, with their places', async () => {
      const name = await context.collection({ language: 'en' });
      const analyse = async (body: object): Promise<unknown> =>
        dataOf(await context.api.post(`/v1/collections/${name}/analyse`, body));
      const text = 'The ﬁshers’ ｎｅｔｓ, the 東京';
      const [the, fisher, net] = [
        { term: 'the', start: 0, end: 3, stop_word: true },
        { term: 'fisher', start: 4, end: 10, stop_word: false },
        { term: 'net', start: 12, end: 16, stop_word: false },
      ];
      const place = (term: string, start: number): object => ({
        term,
        start,
        end: start + term.length,
        stop_word: false,
      });
      const tokyo = [place('東', 22), place('京', 23), place('東京', 22)];
      expect(await analyse({ text })).toEqual({
        analyser: 'snowball-en',
        version: 1,
        language: 'en',
        terms: [the, fisher, net, { ...the, start: 18, end: 21 }, ...tokyo],
      });
      expect(await analyse({ text, as: 'query' })).toMatchObject({ terms: [fisher, net, ...tokyo] });
      expect(await analyse({ text: 'To be, or to be', as: 'query' })).toMatchObject({
        terms: [{ term: 'to' }, { term: 'be' }, { term: 'or' }],
      });
      const many = 'water '.repeat(40_000);
      expect((await analyse({ text: many })) as { terms: object[] }).toMatchObject({ terms: { length: 40_000 } });
      expect(await analyse({ text: '' })).toMatchObject({ terms: [] });
      const plain = await context.empty();
      expect(dataOf(await context.api.post(`/v1/collections/${plain}/analyse`, { text: 'a', as: null }))).toMatchObject(
        {
          analyser: 'unicode',
          language: null,
        },
      );
      for (const [body, code, message] of [
        [{}, 422, 'text'],
        [{ text: 'a', as: 'words' }, 422, 'as'],
        [{ text: 'x'.repeat(262_145) }, 400, 'MAX_TEXT_BYTES'],
      ] as const)
        expect(errorOf(await context.api.post(`/v1/collections/${plain}/analyse`, body), code)).toContain(message);
    });

    test('finds words in all their forms, over any number of shards', async () => {
      for (const shards of [1, 3]) {
        const name = await filled({ language: 'en', shards });
        expect(await find(name, 'running')).toEqual(['t1']);
        expect(await find(name, 'the candidate’s resume')).toEqual(['t2']);
        expect(await find(name, 'the runners')).toEqual(['t0']);
        expect(await find(name, '東京')).toEqual(['t4']);
      }
    });

    test('finds words of scripts without spaces, and what only shares a character with them not at all', async () => {
      const texts = ['东京都的天气', '我喜欢北京大学的图书馆', '北京的天气', '京城', '東京の天気を調べる'];
      for (const [language, shards] of [
        ['zh', 1],
        ['auto', 3],
      ] as const) {
        const name = await context.collection({ language, shards });
        const items = texts.map((text, i) => ({ external_id: `t${i}`, vector: [1, i, 0], text }));
        dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
        expect(await find(name, '北京')).toEqual(['t1', 't2']);
        expect(await find(name, '東京')).toEqual(['t4']);
        expect(await find(name, '京')).toEqual(['t0', 't1', 't2', 't3', 't4']);
        const search = async (fields: object): Promise<{ external_id: string; highlights: { text: string }[] }[]> =>
          dataOf(
            await context.api.post(`/v1/collections/${name}/hybrid_search`, { vector: [1, 0, 0], alpha: 0, ...fields }),
          ).results;
        const [first, ...others] = await search({ query_text: '北京天气', highlight: { pre: '[', post: ']' } });
        expect(first.highlights[0].text).toBe('[北京]的[天气]');
        expect(others.map(({ external_id }) => external_id).sort()).toEqual(['t0', 't1']);
        expect(await search({ query_text: '北京天气', match: 'all' })).toMatchObject([{ external_id: 't2' }]);
        expect(await search({ query_text: '"我喜欢"', query_syntax: 'simple' })).toMatchObject([{ external_id: 't1' }]);
        expect(await search({ query_text: '+北京 -天气', query_syntax: 'simple' })).toMatchObject([
          { external_id: 't1' },
        ]);
        expect(await search({ query_text: '图*', query_syntax: 'simple' })).toMatchObject([{ external_id: 't1' }]);
        const filters = { $text: { query: '北京 图书', match: 'any' } };
        expect((await search({ query_text: '的', filters })).map(({ external_id }) => external_id).sort()).toEqual([
          't1',
          't2',
        ]);
        expect(
          dataOf(await context.api.post(`/v1/collections/${name}/analyse`, { text: '去 东京和ＡＢ', as: 'query' })),
        ).toMatchObject({
          analyser: `unspaced-${language}`,
          terms: [
            { term: '去', start: 0, end: 1 },
            { term: '东京', start: 2, end: 4 },
            { term: '和', start: 4, end: 5 },
            { term: 'ab', start: 5, end: 7 },
          ],
        });
      }
    });

    test('loses no text of function words alone', async () => {
      expect(await find(await filled({ language: 'en' }), 'to be or not to be')).toEqual(['t3']);
    });

    test('leaves words as they are when there is none', async () => {
      const name = await filled({});
      expect(await find(name, 'running')).toEqual([]);
      expect(await find(name, 'runs resumes')).toEqual(['t1', 't2']);
      expect(await find(name, 'the')).toEqual(['t0']);
    });

    test('takes every kind of text and query', async () => {
      for (const language of [null, 'en', 'ar']) {
        const name = await context.collection({ language });
        const texts = [
          'a\u0000b\u0007c',
          'lone \ud800 half',
          'w'.repeat(250_000),
          '…!?',
          'שלום كِتَابٌ',
          '\u0301\u0301',
          'the the the',
        ];
        const items = texts.map((text, i) => ({ external_id: `${i}`, vector: [1, 0, 0], text }));
        dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
        for (const query of ['\u0000 \ud800', '…!?', '\u0301', '\u202e']) expect(await find(name, query)).toEqual([]);
        expect(await find(name, 'half')).toEqual(['1']);
        expect(await find(name, 'b\u0007')).toEqual(['0']);
        expect(await find(name, 'w'.repeat(4_000))).toEqual(['2']);
        expect(await find(name, 'שָׁלוֹם')).toEqual(['4']);
        expect(await find(name, 'the')).toEqual(['6']);
      }
    });

    test('is refused with a 400 that names the known ones, and with a 422 when it is no text', async () => {
      for (const language of ['xx', 'EN', '', 'english', '__proto__']) {
        const message = errorOf(await context.api.post('/v1/collections', { name: 'bad', dim: 3, language }), 400);
        expect(message).toContain(`language must be one of ${LANGUAGES.join(', ')}`);
      }
      for (const language of [5, ['en'], true, {}])
        expect(errorOf(await context.api.post('/v1/collections', { name: 'bad', dim: 3, language }), 422)).toContain(
          'language',
        );
      errorOf(await context.api.get('/v1/collections/bad'), 404);
    });
  });
  describe('keyword fields', () => {
    const ranked = async (name: string, query: string, more: object = {}): Promise<string[]> =>
      dataOf(
        await context.api.post(`/v1/collections/${name}/hybrid_search`, {
          query_text: query,
          vector: [1, 0, 0],
          alpha: 0,
          ...more,
        }),
      ).results.map(({ external_id: id }: { external_id: string }) => id);
    const filled = async (fields: Record<string, unknown>): Promise<string> => {
      const name = await context.collection(fields);
      const texts: [text: string, metadata: object][] = [
        ['a river here', { title: 'stone work', more: { note: 'dam' } }],
        ['a stone here', { title: 'river work', more: { note: 'dam' } }],
        ['nothing', { title: 'lake', more: { note: 'river dam' }, tags: ['wet', 'river'] }],
      ];
      const items = texts.map(([text, metadata], i) => ({ external_id: `t${i}`, vector: [1, i, 0], text, metadata }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      return name;
    };

    const ended = async (id: string): Promise<any> => {
      let job: any;
      await eventually(`${id} is over`, async () => {
        job = dataOf(await context.api.get(`/v1/jobs/${id}`));
        return ['done', 'failed', 'cancelled'].includes(job.state);
      });
      return job;
    };

    test('are what keyword search looks in, by their weights, over any number of shards', async () => {
      for (const shards of [1, 3]) {
        const titles = await filled({ shards, keyword_fields: [{ path: 'title', weight: 5 }, { path: 'text' }] });
        const texts = await filled({ shards, keyword_fields: [{ path: 'title' }, { path: 'text', weight: 5 }] });
        const notes = await filled({ shards, keyword_fields: [{ path: 'more' }, { path: 'tags', weight: 2 }] });
        expect(await ranked(titles, 'river')).toEqual(['t1', 't0']);
        expect(await ranked(texts, 'river')).toEqual(['t0', 't1']);
        expect(await ranked(notes, 'river dam')).toEqual(['t2', 't0', 't1']);
        const simple = { query_syntax: 'simple' };
        expect(await ranked(titles, '"river work"', simple)).toEqual(['t1']);
        expect(await ranked(notes, '"river here"', simple)).toEqual([]);
        expect(await ranked(titles, 'river -more.note:river -title:river', simple)).toEqual(['t0']);
        const counted = async (of: object): Promise<number> =>
          dataOf(await context.api.post(`/v1/collections/${titles}/count`, { filters: { $text: of } })).count;
        expect(await counted({ query: 'river' })).toBe(2);
        expect(await counted({ query: 'dam' })).toBe(0);
        expect(await counted({ query: 'river', fields: ['more.note'] })).toBe(1);
        expect(await counted({ query: 'river', fields: ['title', 'tags'] })).toBe(2);
        dataOf(await context.api.patch(`/v1/collections/${titles}/vectors/t1`, { metadata: { title: 'dam' } }));
        expect(await ranked(titles, 'river')).toEqual(['t0']);
        expect(await ranked(titles, 'dam')).toEqual(['t1']);
      }
    });

    test('may be of other languages, over any number of shards, and are changed by a job', async () => {
      for (const shards of [1, 3]) {
        const fields = [
          { path: 'title', weight: 2, analyser: 'de' },
          { path: 'more', weight: 1, analyser: 'unicode' },
          { path: 'text', weight: 1 },
        ];
        const given = fields.map((field) => (field.path === 'text' ? { ...field, analyser: 'en' } : field));
        const name = await context.collection({ shards, language: 'en', keyword_fields: given });
        const path = `/v1/collections/${name}`;
        expect(dataOf(await context.api.get(path)).keyword_fields).toEqual(fields);
        const texts: [text: string, metadata: object][] = [
          ['the housing of a pump', { title: 'Gehäuse der Pumpe', more: { note: 'AB-7' } }],
          ['to die for', { title: 'harte Pumpen', more: { note: 'houses' } }],
          ['hard houses', { title: 'die Häuser', more: { note: 'the' } }],
        ];
        const items = texts.map(([text, metadata], i) => ({ external_id: `t${i}`, vector: [1, i, 0], text, metadata }));
        dataOf(await context.api.post(`${path}/bulk_upsert`, { items }));
        expect((await ranked(name, 'pump')).sort()).toEqual(['t0', 't1']);
        expect(await ranked(name, 'haus')).toEqual(['t2']);
        expect((await ranked(name, 'houses', { match: 'all' })).sort()).toEqual(['t0', 't1', 't2']);
        // A stop word of German counts in English, and is not asked of what has the other word in German.
        expect((await ranked(name, 'die harte', { match: 'all' })).sort()).toEqual(['t1']);
        expect(await ranked(name, 'die pumpen', { match: 'all' })).toEqual(expect.arrayContaining(['t0', 't1']));
        const simple = { query_syntax: 'simple' };
        expect(await ranked(name, '+title:die', simple)).toEqual(['t2']);
        expect(await ranked(name, '+"die häuser" -title:pumpe', simple)).toEqual(['t2']);
        expect(await ranked(name, 'houses -more:houses', simple)).toEqual(expect.not.arrayContaining(['t1']));
        expect((await ranked(name, '+haus*', simple)).sort()).toEqual(['t2']);
        expect(await ranked(name, 'puumpe', { fuzzy: 1 })).toEqual(expect.arrayContaining(['t0', 't1']));
        expect((await ranked(name, 'gehau', { prefix_last: true })).sort()).toEqual(['t0']);
        const counted = async (of: object): Promise<number> =>
          dataOf(await context.api.post(`${path}/count`, { filters: { $text: of } })).count;
        expect(await counted({ query: 'the houses', match: 'all' })).toBe(2);
        expect(await counted({ query: 'the houses', match: 'all', fields: ['more'] })).toBe(0);
        expect(await counted({ query: 'pumpe', fields: ['title'] })).toBe(2);
        const { results } = dataOf(
          await context.api.post(`${path}/hybrid_search`, {
            query_text: 'pumpen houses',
            vector: [1, 0, 0],
            highlight: { fields: ['title', 'more.note', 'text'], pre: '[', post: ']' },
          }),
        );
        const marked = results.map(({ external_id: id, highlights }: any) => [
          id,
          highlights.map(({ text }: any) => text),
        ]);
        expect(Object.fromEntries(marked)).toEqual({
          t0: ['Gehäuse der [Pumpe]', 'the [housing] of a pump'],
          t1: ['harte [Pumpen]', '[houses]'],
          t2: ['hard [houses]'],
        });
        const analysed = async (field: string | undefined): Promise<unknown> =>
          dataOf(await context.api.post(`${path}/analyse`, { text: 'die Pumpen', as: 'query', field }));
        expect(await analysed('title')).toMatchObject({
          analyser: 'snowball-de',
          language: 'de',
          terms: [{ term: 'pump', start: 4, end: 10 }],
        });
        expect(await analysed('more.note')).toMatchObject({ analyser: 'unicode', language: null, terms: [{}, {}] });
        expect(await analysed(undefined)).toMatchObject({ analyser: 'snowball-en', language: 'en' });
        // Synonyms and stop words of the collection hold for each analyser.
        dataOf(await context.api.patch(path, { synonyms: [['flat', 'häuser']], stop_words: { add: ['pumpe'] } }));
        expect(await ranked(name, 'flat')).toEqual(['t2']);
        expect(await counted({ query: 'flat pumpe', match: 'all' })).toBe(1);
        dataOf(await context.api.patch(path, { synonyms: null, stop_words: null }));
        const { job_id: id } = dataOf(await context.api.patch(path, { keyword_fields: [fields[0], fields[2]] }));
        expect(await ended(id)).toMatchObject({
          state: 'done',
          subject: expect.stringContaining('title:2:de, text:1'),
        });
        expect((await ranked(name, 'houses')).sort()).toEqual(['t0', 't2']);
        const { job_id: back } = dataOf(
          await context.api.patch(path, { keyword_fields: [{ path: 'title', weight: 2 }] }),
        );
        expect(await ended(back)).toMatchObject({ state: 'done' });
        expect(await ranked(name, 'haus')).toEqual([]);
      }
    });

    test('are shown; null where there are none', async () => {
      const name = await context.collection({ keyword_fields: [{ path: 'title', weight: 5 }, { path: 'text' }] });
      const fields = [
        { path: 'title', weight: 5 },
        { path: 'text', weight: 1 },
      ];
      expect(dataOf(await context.api.get(`/v1/collections/${name}`)).keyword_fields).toEqual(fields);
      const plain = await context.collection({ keyword_fields: null });
      expect(dataOf(await context.api.get(`/v1/collections/${plain}`))).toMatchObject({
        keyword_fields: null,
        keyword_positions: true,
      });
    });

    test('may count otherwise for a query, over any number of shards', async () => {
      for (const shards of [1, 3]) {
        const name = await filled({ shards, keyword_fields: [{ path: 'title', weight: 5 }, { path: 'text' }] });
        const other = await filled({ shards, keyword_fields: [{ path: 'title' }, { path: 'text', weight: 5 }] });
        const weighed = (weights: object, more: object = {}): Promise<string[]> =>
          ranked(name, 'river', { field_weights: weights, ...more });
        expect(await ranked(name, 'river')).toEqual(['t1', 't0']);
        expect(await weighed({ title: 1, text: 5 })).toEqual(['t0', 't1']);
        expect(await weighed({ title: 0 })).toEqual(['t0']);
        expect(await weighed({ text: 0 })).toEqual(['t1']);
        expect(await weighed({ title: 1, text: 5 }, { match: 'all', query_text: 'river here' })).toEqual(['t0', 't1']);
        expect(await weighed({ title: 0 }, { match: 'all', query_text: 'river here' })).toEqual(['t0']);
        const simple = { query_syntax: 'simple', query_text: '"river work"' };
        expect(await weighed({ title: 1, text: 5 }, simple)).toEqual(['t1']);
        expect(await weighed({ title: 0 }, simple)).toEqual([]);
        const scores = async (of: string, more: object): Promise<unknown> =>
          dataOf(
            await context.api.post(`/v1/collections/${of}/hybrid_search`, {
              query_text: 'river stone her*',
              query_syntax: 'simple',
              mode: 'keyword',
              explain: true,
              vector: [1, 0, 0],
              ...more,
            }),
          ).results.map(({ external_id: id, keyword_score: score }: any) => [id, score]);
        expect(await scores(name, { field_weights: { title: 1, text: 5 } })).toEqual(await scores(other, {}));
        const titles = await filled({ shards, keyword_fields: [{ path: 'title', weight: 5 }] });
        expect(await scores(name, { field_weights: { text: 0 } })).toEqual(await scores(titles, {}));
        const refused = async (weights: unknown, code: number): Promise<string> =>
          errorOf(
            await context.api.post(`/v1/collections/${name}/hybrid_search`, {
              query_text: 'river',
              vector: [1, 0, 0],
              field_weights: weights,
            }),
            code,
          );
        expect(await refused({ more: 2 }, 400)).toBe(
          `field_weights has "more", and the keyword_fields of collection "${name}" are title, text`,
        );
        expect(await refused({ title: 0, text: 0 }, 400)).toBe('field_weights must leave a field that counts');
        for (const more of [{}, { alpha: 0.5 }, { mode: 'keyword' }]) {
          const body = { collection_name: name, query: 'river', field_weights: { more: 2 }, ...more };
          expect(errorOf(await context.api.post('/v1/query', body), 400)).toContain('field_weights has "more"');
        }
        for (const value of [{ title: -1 }, { title: 21 }, { title: 1.5 }, { title: 'a' }, ['title'], 'title'])
          expect(await refused(value, 422)).toContain('field_weights');
      }
      const plain = await filled({});
      const body = { query_text: 'river', vector: [1, 0, 0], field_weights: { title: 2 } };
      expect(errorOf(await context.api.post(`/v1/collections/${plain}/hybrid_search`, body), 400)).toBe(
        `field_weights: collection "${plain}" has no keyword_fields; PATCH it with them first`,
      );
    });

    test('are changed by a job, which makes the new index beside the present one', async () => {
      const { api } = context;
      const name = await filled({ shards: 2 });
      const path = `/v1/collections/${name}`;
      const fields = [
        { path: 'title', weight: 5 },
        { path: 'text', weight: 1 },
      ];
      expect(await ranked(name, 'river')).toEqual(expect.arrayContaining(['t0', 't1', 't2']));
      const begun = dataOf(await api.patch(path, { keyword_fields: [fields[0], { path: 'text' }], description: 'd' }));
      expect(begun).toMatchObject({ description: 'd', job_id: expect.stringMatching(/^reindex-/) });
      expect(await ended(begun.job_id)).toMatchObject({
        kind: 'reindex',
        state: 'done',
        collection: name,
        subject: 'keyword_fields title:5, text:1',
        progress: 1,
      });
      expect(dataOf(await api.get(path))).toMatchObject({ keyword_fields: fields, description: 'd', shards: 2 });
      expect(await ranked(name, 'river')).toEqual(['t1', 't0']);
      // They are these already.
      const again = dataOf(await api.patch(path, { keyword_fields: fields }));
      expect(again).toMatchObject({ keyword_fields: fields });
      expect(again.job_id).toBeUndefined();
      const back = dataOf(await api.patch(path, { keyword_fields: null }));
      const second = await api.patch(path, { keyword_fields: [fields[0]] });
      // Unless the first is over by then.
      if (second.json?.error !== null) expect(errorOf(second, 409)).toContain(`wait for job ${back.job_id}`);
      else await ended(dataOf(second).job_id);
      await ended(back.job_id);
      expect(errorOf(await api.patch(path, {}), 422)).toContain(
        'must have description, ttl_seconds, keyword_fields, synonyms or stop_words',
      );
      expect(errorOf(await api.patch(path, { keyword_fields: [] }), 400)).toContain('keyword_fields must not be empty');
      expect(errorOf(await api.patch('/v1/collections/none', { keyword_fields: fields }), 404)).toContain('none');
    });

    test('may be changed back by who gives the job up', async () => {
      const { api } = context;
      const name = await filled({});
      const { key } = dataOf(await api.post('/v1/admin/keys', { name: 'words', role: 'readwrite' }));
      const path = `/v1/collections/${name}`;
      const { job_id: id } = dataOf(await api.patch(path, { keyword_fields: [{ path: 'title' }] }, { key }));
      const answer = await api.delete(`/v1/jobs/${id}`, { key });
      // It may be too late by then.
      const isLate = answer.json?.error !== null;
      expect((await ended(id)).state).toBe(isLate ? 'done' : 'cancelled');
      expect(dataOf(await api.get(`/v1/jobs/${id}`, { key }))).toMatchObject({ id, collection: name });
      const { keyword_fields: present } = dataOf(await api.get(path));
      expect(present).toEqual(isLate ? [{ path: 'title', weight: 1 }] : null);
    });

    test('phrases are found with positions of words and without', async () => {
      for (const given of [{ keyword_positions: false }, { shards: 2 }]) {
        const name = await filled(given);
        expect(dataOf(await context.api.get(`/v1/collections/${name}`))).toMatchObject({
          keyword_positions: true,
          ...given,
        });
        dataOf(await context.api.post(`/v1/collections/${name}/optimize`));
        expect(await ranked(name, '"river work"', { query_syntax: 'simple' })).toEqual(['t1']);
      }
      const body = { name: 'bad', dim: 3, keyword_positions: 'no' };
      expect(errorOf(await context.api.post('/v1/collections', body), 422)).toContain('keyword_positions');
    });

    test.each([
      [[], 400, 'keyword_fields must not be empty'],
      [[{ path: 'a' }, { path: 'b' }, { path: 'a', weight: 2 }], 400, 'keyword_fields has "a" twice'],
      [Array.from({ length: 21 }, (_, i) => ({ path: `p${i}` })), 400, 'keyword_fields has 21 elements'],
      [[{ path: '' }], 422, 'keyword_fields[0].path'],
      [[{ weight: 2 }], 422, 'keyword_fields[0].path'],
      [[{ path: 'a', weight: 0 }], 422, 'keyword_fields[0].weight'],
      [[{ path: 'a', weight: 21 }], 422, 'keyword_fields[0].weight'],
      [[{ path: 'a', weight: 1.5 }], 422, 'keyword_fields[0].weight'],
      [[{ path: 'a', analyser: 'german' }], 400, 'keyword_fields[0].analyser must be one of'],
      [[{ path: 'a', analyser: 2 }], 422, 'keyword_fields[0].analyser'],
      [['title'], 422, 'keyword_fields[0]'],
      [{ path: 'a' }, 422, 'keyword_fields'],
    ])('%j are refused', async (given, code, message) => {
      const body = { name: 'bad', dim: 3, keyword_fields: given };
      expect(errorOf(await context.api.post('/v1/collections', body), code)).toContain(message);
    });
  });
}
