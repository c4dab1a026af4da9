import {
  documentChanges,
  type PassageOf,
  textsToEmbed,
  vectorsByText,
} from '../../../../../coordinator/service/documents/document-changes';
import type { WantedChunk } from '../../../../../coordinator/service/documents/document-facts';
import type { VectorView } from '../../../../../coordinator/service/service';
import { resultOf } from '../../../../../shared/base/time/work-slices';
import { NO_VERSION } from '../../../../../shared/contract/shard/shard-client';

/** What changes when a document is stored again. */

const wanted = (...texts: string[]): WantedChunk[] =>
  texts.map((text, i) => ({ externalId: `c${i}`, text, metadata: `{"chunk_index":${i}}` }));
const passageOf: PassageOf = ({ text }) => text;
const vectorOf = (text: string): Float32Array => Float32Array.of(text.length, text.charCodeAt(0));
const stored = (...texts: string[]): VectorView[] =>
  wanted(...texts).map((chunk, i) => ({ ...chunk, vector: vectorOf(chunk.text), version: 10 + i }));

test('the same document again changes nothing and embeds nothing', () => {
  const known = stored('a', 'b');
  const vectors = resultOf(vectorsByText(known, passageOf));
  expect(resultOf(textsToEmbed(wanted('a', 'b'), vectors, passageOf))).toEqual([]);
  expect(resultOf(documentChanges(wanted('a', 'b'), known, { vectors, passageOf, expiresAt: undefined }))).toEqual({
    puts: [],
    gone: [],
  });
});

test('a text that has moved keeps its vector; a new one is embedded once', () => {
  const known = stored('a', 'b');
  const vectors = resultOf(vectorsByText(known, passageOf));
  expect(resultOf(textsToEmbed(wanted('new', 'a', 'new', 'b'), vectors, passageOf))).toEqual(['new']);
  vectors.set('new', vectorOf('new'));
  const { puts, gone } = resultOf(
    documentChanges(wanted('new', 'a', 'new', 'b'), known, { vectors, passageOf, expiresAt: undefined }),
  );
  expect(puts.map(({ externalId, expected, text }) => [externalId, expected, text])).toEqual([
    ['c0', 10, 'new'],
    ['c1', 11, 'a'],
    ['c2', NO_VERSION, 'new'],
    ['c3', NO_VERSION, 'b'],
  ]);
  expect(puts.map(({ source }) => source.vector)).toEqual(['new', 'a', 'new', 'b'].map(vectorOf));
  expect(gone).toEqual([]);
});

test('chunks that the document has no more go, as they were read', () => {
  const known = stored('a', 'b', 'c');
  const change = resultOf(
    documentChanges(wanted('a'), known, {
      vectors: resultOf(vectorsByText(known, passageOf)),
      passageOf,
      expiresAt: undefined,
    }),
  );
  expect(change).toEqual({
    puts: [],
    gone: [
      { externalId: 'c1', expected: 11 },
      { externalId: 'c2', expected: 12 },
    ],
  });
});

test('a time at which it expires is set, and taken away', () => {
  const known = stored('a').map((chunk) => ({ ...chunk, expiresAt: 5 }));
  const vectors = resultOf(vectorsByText(known, passageOf));
  const expiry = (expiresAt: number | undefined): unknown[] =>
    resultOf(documentChanges(wanted('a'), known, { vectors, passageOf, expiresAt })).puts.map((put) => put.expiresAt);
  expect(expiry(5)).toEqual([]);
  expect(expiry(9)).toEqual([9]);
  expect(expiry(undefined)).toEqual([null]);
});

test('what vectors are made of decides where that is more than texts', () => {
  const titled = (title: string, ...texts: string[]): WantedChunk[] =>
    texts.map((text, i) => ({ externalId: `c${i}`, text, metadata: JSON.stringify({ title }) }));
  const ofTitle: PassageOf = ({ text, metadata }) => `${(JSON.parse(metadata) as { title: string }).title}: ${text}`;
  const known = titled('Old', 'a', 'b').map((chunk, i) => ({
    ...chunk,
    vector: vectorOf(chunk.text),
    version: 10 + i,
  }));
  const vectors = resultOf(vectorsByText(known, ofTitle));
  expect(resultOf(textsToEmbed(titled('Old', 'b', 'c'), vectors, ofTitle))).toEqual(['Old: c']);
  const renamed = titled('New', 'a');
  expect(resultOf(textsToEmbed(renamed, vectors, ofTitle))).toEqual(['New: a']);
  vectors.set('New: a', vectorOf('new'));
  const { puts } = resultOf(documentChanges(renamed, known, { vectors, passageOf: ofTitle, expiresAt: undefined }));
  expect(puts.map(({ source }) => source.vector)).toEqual([vectorOf('new')]);
  expect(() => resultOf(textsToEmbed(renamed, vectors, () => null))).toThrow('a chunk has no field of what vectors');
});
