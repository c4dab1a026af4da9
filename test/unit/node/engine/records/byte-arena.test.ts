import { ByteArena } from '../../../../../node/engine/records/byte-arena';

interface Place {
  chunk: number;
  offset: number;
  text: string;
}

function store(arena: ByteArena, text: string): Place {
  const { chunk, offset, buffer } = arena.allocate(text.length);
  buffer.write(text, offset, 'latin1');
  return { chunk, offset, text };
}

function read(arena: ByteArena, { chunk, offset, text }: Place): string {
  return arena.bytes(chunk, offset, text.length).toString('latin1');
}

test('keeps every string where it was put', () => {
  const arena = new ByteArena();
  const places = Array.from({ length: 5000 }, (_, i) => store(arena, `${i}-`.repeat(1 + (i % 40))));
  for (const place of places) expect(read(arena, place)).toBe(place.text);
});

test('a small shard costs a small arena', () => {
  const arena = new ByteArena();
  store(arena, 'x');
  expect(arena.memoryBytes).toBeLessThanOrEqual(4096);
});

test('a string that is replaced over and over never piles up dead chunks', () => {
  const arena = new ByteArena();
  let place = store(arena, 'x'.repeat(100));
  for (let i = 0; i < 100_000; i++) {
    arena.free(place.chunk, 100);
    place = store(arena, 'x'.repeat(100));
  }
  expect(arena.memoryBytes).toBeLessThan(4 << 20);
});

test('names sparse chunks, also those that became sparse while they were filled, until they are empty', () => {
  const arena = new ByteArena();
  const kept: Place[] = [];
  let hot = store(arena, 'h'.repeat(1000));
  for (let i = 0; i < 20_000; i++) {
    if (i % 1000 === 0) kept.push(store(arena, `kept ${i}`));
    arena.free(hot.chunk, 1000);
    hot = store(arena, 'h'.repeat(1000));
    for (let sparse = arena.takeSparse(); sparse >= 0; sparse = arena.takeSparse()) {
      for (const place of kept.concat(hot).filter(({ chunk }) => chunk === sparse)) {
        const text = read(arena, place);
        arena.free(place.chunk, text.length);
        Object.assign(place, store(arena, text));
      }
    }
  }
  for (const place of kept) expect(read(arena, place)).toBe(place.text);
  expect(arena.memoryBytes).toBeLessThan(4 << 20);
});

test('a long string has a chunk of its own, which goes with it', () => {
  const arena = new ByteArena();
  const small = store(arena, 'small');
  const before = arena.memoryBytes;
  const long = store(arena, 'l'.repeat(3 << 20));
  const next = store(arena, 'next');
  expect(next.chunk).toBe(small.chunk);
  expect(read(arena, long)).toBe(long.text);
  arena.free(long.chunk, long.text.length);
  expect(arena.memoryBytes).toBe(before);
});

test('a snapshot stays as it was, whatever is put, freed and dropped later', () => {
  const arena = new ByteArena();
  const places = Array.from({ length: 300 }, (_, i) => store(arena, `${i}`.padEnd(1000, '.')));
  const { chunks } = arena.snapshot();
  for (const { chunk, text } of places) arena.free(chunk, text.length);
  for (let i = 0; i < 3000; i++) store(arena, 'new'.repeat(300));
  for (const { chunk, offset, text } of places)
    expect((chunks[chunk] as Buffer).toString('latin1', offset, offset + text.length)).toBe(text);
});

test('an arena of saved chunks holds what is revived and drops the rest', () => {
  const arena = new ByteArena();
  const places = Array.from({ length: 3000 }, (_, i) => store(arena, `${i}`.padEnd(1000, '.')));
  const loaded = new ByteArena();
  for (const chunk of arena.snapshot().chunks) loaded.addSaved(chunk as Buffer | null);
  const last = places.slice(-3);
  for (const { chunk, offset, text } of last) expect(loaded.revive(chunk, offset, text.length)).toBe(true);
  expect(loaded.revive(999, 0, 1)).toBe(false);
  expect(loaded.revive(last[0].chunk, 1 << 21, 1)).toBe(false);
  loaded.dropDead();
  for (const place of last) expect(read(loaded, place)).toBe(place.text);
  expect(loaded.memoryBytes).toBeLessThan(arena.memoryBytes);
  const added = store(loaded, 'added');
  expect(read(loaded, added)).toBe('added');
});
