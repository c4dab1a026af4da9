import { createHash, randomUUID } from 'node:crypto';
import { documentChunkId, documentOfChunk, isChunkId } from '../../../../../shared/contract/shard/chunk-id';
import { hashExternalId, shardOf } from '../../../../../shared/contract/shard/shard-of';

/** Chunks of a document are in one shard by their ids alone. */

const DOCUMENT = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const INDEXES = [0, 1, 2, 9, 10, 99, 100, 4_095, 12_345, 999_999];

test('all chunks of a document have the hash of one, and so the shard, whatever the number of shards', () => {
  const hashes = new Set(INDEXES.map((index) => hashExternalId(documentChunkId(DOCUMENT, index))));
  expect(hashes.size).toBe(1);
  for (const shards of [1, 2, 3, 5, 256])
    expect(new Set(INDEXES.map((index) => shardOf(documentChunkId(DOCUMENT, index), shards))).size).toBe(1);
});

test('documents spread over the shards', () => {
  const counts = new Array<number>(5).fill(0);
  for (let i = 0; i < 500; i += 1) counts[shardOf(documentChunkId(randomUUID(), 0), 5)] += 1;
  expect(Math.min(...counts)).toBeGreaterThan(50);
});

test('ids differ by index and by document, and name it', () => {
  const ids = INDEXES.flatMap((index) => [documentChunkId(DOCUMENT, index), documentChunkId(randomUUID(), index)]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(documentOfChunk(documentChunkId(DOCUMENT, 7))).toBe(DOCUMENT);
  expect(ids.every(isChunkId)).toBe(true);
});

test('ids of another form are no chunks', () => {
  const chunk = documentChunkId(DOCUMENT, 7);
  const others = [chunk.replace('-', '_'), `x${chunk.slice(1)}`, chunk.toUpperCase(), chunk.replace('-0305', '_0305')];
  for (const id of ['', 'a', `${DOCUMENT}-chunk-7`, ...others]) expect(documentOfChunk(id)).toBeNull();
});

test('ids are the same in every process: what is stored is found by them', () => {
  expect(INDEXES.map((index) => documentChunkId(DOCUMENT, index).slice(0, 15))).toMatchInlineSnapshot(`
[
  "000000-AAHYY3q_",
  "000001-AADWHE2U",
  "000002-AAG7eRIL",
  "000009-AABIGsSX",
  "000010-AAFw06_Z",
  "000099-AAAu7QrO",
  "000100-AABj6dZg",
  "004095-AABSk2U~",
  "012345-AABtW0Yi",
  "999999-AACDGArI",
]
`);
});

test('the same of many indexes', () => {
  const hash = createHash('sha256');
  for (let i = 0; i < 500; i += 1) hash.update(`${documentChunkId(DOCUMENT, i * 1_999)}\n`);
  expect(hash.digest('hex')).toBe('6bd666bcc621847f756d1f02429f4c38661026fb2ea155d53ee797a2a9ec4cf8');
});
