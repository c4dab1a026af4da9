import { IdTable, hashOfAscii, hashOfId } from '../../../../../node/engine/directory/id-table';
import { runSeed, seededRandom } from '../../../../support/values/random';

test('finds what was added and not what was removed, however ids collide', () => {
  const random = seededRandom(runSeed('id table'));
  const table = new IdTable();
  const model = new Map<number, number>();
  for (let step = 0; step < 60_000; step++) {
    const slot = Math.floor(random() * 3000);
    const known = model.get(slot);
    if (known !== undefined) {
      table.remove(slot);
      model.delete(slot);
    } else if (random() < 0.8) {
      // Few distinct hashes: long runs, at the end of the table too.
      const hash = Math.floor(random() * 40) * 0x06666666;
      table.add(hash, slot);
      model.set(slot, hash);
    }
    if (step % 500 !== 0) continue;
    // One expectation for all: hundreds of thousands would take longer than what they look at.
    expect(
      [...model].filter(([present, hash]) => table.find(hash, (candidate) => candidate === present) !== present),
    ).toEqual([]);
    expect(table.find(7, () => true)).toBe(-1);
    const hashes = [...new Set([...model.values(), 7])];
    expect([...table.firstOf(Uint32Array.from(hashes))]).toEqual(hashes.map((hash) => table.find(hash, () => true)));
  }
  for (const slot of [...model.keys()]) table.remove(slot);
  expect([...model.values()].filter((hash) => table.find(hash, () => true) !== -1)).toEqual([]);
});

test('stays small when empty, and reserves what it is told', () => {
  const table = new IdTable();
  expect(table.memoryBytes).toBeLessThan(2048);
  table.reserve(100_000, 120_000);
  const reserved = table.memoryBytes;
  for (let slot = 0; slot < 100_000; slot++) table.add(hashOfId(`id-${slot}`), slot);
  expect(table.memoryBytes).toBe(reserved);
});

test('the hash of stored bytes is that of the id', () => {
  for (const id of ['a', 'some-id-17', 'x'.repeat(512)])
    expect(hashOfAscii(Buffer.from(`..${id}..`), 2, 2 + id.length)).toBe(hashOfId(id));
  expect(hashOfAscii(Buffer.from('é'), 0, 2)).toBe(-1);
});
