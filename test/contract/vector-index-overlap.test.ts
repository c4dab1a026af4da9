import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeVectorIndex } from '../../node/engine/vector/native-vector-index';
import { PlainVectorIndex } from '../support/models/plain-vector-index';
import type { SearchEffort } from '../../shared/contract/shard/shard-read';
import { runSeed, seededRandom } from '../support/values/random';

/** Searches beside puts: what was there when a search began is found, however much is put while it runs. */

const DIM = 8;
const ROUNDS = 60;
const SLOTS = 8;

test.each([
  ['plain', PlainVectorIndex.open],
  ['native', NativeVectorIndex.open],
] as const)('a search for more than there is misses nothing that was put before it (%s)', async (name, open) => {
  const random = seededRandom(runSeed(`vector-index-overlap-${name}`));
  const vector = (): Float32Array => Float32Array.from({ length: DIM }, () => random() * 2 - 1);
  const efforts: SearchEffort[] = [{ type: 'exact' }, { type: 'calibrated' }];
  for (let round = 0; round < ROUNDS; round += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'vector-index-overlap-'));
    const index = await open(
      {
        folder,
        dim: DIM,
        metric: 'cosine',
        recallTarget: 0.99,
        buildThreads: 1,
        onBackgroundError: (error) => {
          throw error;
        },
        onDamaged: (error) => {
          throw error;
        },
      },
      null,
    );
    const searches: Promise<{ before: number; found: number[] }>[] = [];
    for (let slot = 0; slot < SLOTS; slot += 1) {
      index.put(Uint32Array.of(slot), vector());
      const before = slot + 1;
      for (const effort of efforts) {
        searches.push(
          index.search(vector(), { k: 20, effort, allowed: null }).then(({ slots }) => ({ before, found: [...slots] })),
        );
      }
      // Some searches get a head start on the next put, most do not.
      if (slot % 2 === 1) await new Promise((wake) => setImmediate(wake));
    }
    for (const { before, found } of await Promise.all(searches)) {
      expect(found).toEqual(expect.arrayContaining(Array.from({ length: before }, (_, slot) => slot)));
    }
    await index.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
