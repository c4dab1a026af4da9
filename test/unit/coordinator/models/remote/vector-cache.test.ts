import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorCache, vectorDigest } from '../../../../../coordinator/models/remote/vector-cache';
import { seededRandom } from '../../../../support/values/random';

const DIM = 5;
const SLOT = 32 + DIM * 4 + 4;

describe('VectorCache', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-vectors-'));
  const path = join(folder, 'deep', 'a.vectors');
  const opened: VectorCache[] = [];
  const errors: unknown[] = [];
  afterEach(async () => {
    for (const cache of opened.splice(0)) await cache.close();
    rmSync(join(folder, 'deep'), { recursive: true, force: true });
    expect(errors.splice(0)).toEqual([]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function open(bytesMax = 1_000_000): Promise<VectorCache> {
    const cache = await VectorCache.open({ path, bytesMax, onError: (error) => void errors.push(error) });
    opened.push(cache);
    return cache;
  }
  async function closed(cache: VectorCache): Promise<void> {
    opened.splice(opened.indexOf(cache), 1);
    await cache.close();
  }
  const vectorOf = (i: number, dim = DIM): Float32Array => Float32Array.from({ length: dim }, (_, k) => i + k / 8);
  const digestOf = (i: number): Buffer => vectorDigest(`text ${i}`);

  test('has what was put, also after a start, and nothing else', async () => {
    const cache = await open();
    expect([cache.dim, await cache.get(digestOf(0))]).toEqual([0, null]);
    for (let i = 0; i < 100; i++) cache.put(digestOf(i), vectorOf(i));
    await cache.written();
    for (let i = 0; i < 100; i++) expect(await cache.get(digestOf(i))).toEqual(vectorOf(i));
    expect(await cache.get(digestOf(100))).toBeNull();
    await closed(cache);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await open();
    expect(again.dim).toBe(DIM);
    for (let i = 0; i < 100; i++) expect(await again.get(digestOf(i))).toEqual(vectorOf(i));
  });

  test('takes no more bytes than it may, and then loses some of what it has', async () => {
    const bytesMax = 16 + 40 * SLOT;
    const cache = await open(bytesMax);
    for (let i = 0; i < 400; i++) cache.put(digestOf(i), vectorOf(i));
    await cache.written();
    expect(statSync(path).size).toBeLessThanOrEqual(bytesMax);
    const there: number[] = [];
    for (let i = 0; i < 400; i++) {
      const found = await cache.get(digestOf(i));
      if (found === null) continue;
      expect(found).toEqual(vectorOf(i));
      there.push(i);
    }
    // All slots are full.
    expect(there).toHaveLength(40);
    // The last one is there whatever it took the place of.
    expect(there).toContain(399);
  });

  test('what is damaged is not there, wherever the damage is', async () => {
    const cache = await open(16 + 8 * SLOT);
    cache.put(digestOf(0), vectorOf(0));
    cache.put(digestOf(1), vectorOf(1));
    await closed(cache);
    const whole = readFileSync(path);
    const random = seededRandom(7);
    for (let round = 0; round < 200; round++) {
      const bytes = Buffer.from(whole);
      const at = Math.floor(random() * bytes.length);
      bytes[at] ^= 1 << Math.floor(random() * 8);
      writeFileSync(path, bytes);
      const damaged = await open(16 + 8 * SLOT);
      for (const i of [0, 1]) {
        const found = await damaged.get(digestOf(i));
        if (found !== null) expect(found).toEqual(vectorOf(i));
      }
      // It goes on: what was lost is kept anew.
      damaged.put(digestOf(0), vectorOf(0));
      await damaged.written();
      expect(await damaged.get(digestOf(0))).toEqual(vectorOf(0));
      await closed(damaged);
    }
    for (let length = 0; length < whole.length; length += 7) {
      writeFileSync(path, whole);
      truncateSync(path, length);
      const cut = await open(16 + 8 * SLOT);
      for (const i of [0, 1]) {
        const found = await cut.get(digestOf(i));
        if (found !== null) expect(found).toEqual(vectorOf(i));
      }
      await closed(cut);
    }
  });

  test('begins anew with vectors of another length, and with another bound', async () => {
    const cache = await open();
    cache.put(digestOf(0), vectorOf(0));
    cache.put(digestOf(1), vectorOf(1, 7));
    await cache.written();
    expect([cache.dim, await cache.get(digestOf(0)), await cache.get(digestOf(1))]).toEqual([7, null, vectorOf(1, 7)]);
    await closed(cache);
    const smaller = await open(10_000);
    expect([smaller.dim, await smaller.get(digestOf(1))]).toEqual([0, null]);
  });

  test('two that write one file take nothing wrong from it', async () => {
    const [one, other] = [await open(16 + 8 * SLOT), await open(16 + 8 * SLOT)];
    one.put(digestOf(0), vectorOf(0));
    await one.written();
    for (let i = 0; i < 200; i++) (i % 2 === 0 ? one : other).put(digestOf(i), vectorOf(i));
    await Promise.all([one.written(), other.written()]);
    for (const cache of [one, other])
      for (let i = 0; i < 200; i++) {
        const found = await cache.get(digestOf(i));
        if (found !== null) expect(found).toEqual(vectorOf(i));
      }
  });
});
