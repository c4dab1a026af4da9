import { noticeOf } from '../../../../dashboard/search/model-text';

const reason = 'The embedding model "m" can\'t be loaded: the hub can\'t be reached';
const away = { configured: 'm', active: 'builtin', fallback_reason: reason };
const there = { configured: 'm', active: 'm', fallback_reason: null };
const chosen = { configured: 'builtin', active: 'builtin', fallback_reason: null };

test.each([
  ['m', there, null],
  [null, there, null],
  [
    'builtin',
    there,
    'Texts are compared by words, not by meaning: m could not be loaded when they were stored. A new collection has it.',
  ],
  ['other', there, null],
  ['m', away, `Nothing can be searched by text at present. ${reason}.`],
  [null, away, `Texts are compared by words, not by meaning. ${reason}.`],
  ['builtin', away, `Texts are compared by words, not by meaning. ${reason}.`],
  ['other', away, null],
  ['builtin', chosen, null],
  [null, chosen, null],
])('a collection of the model %s, with %j', (model, embedding, notice) => {
  expect(noticeOf(model, embedding)).toBe(notice);
});
