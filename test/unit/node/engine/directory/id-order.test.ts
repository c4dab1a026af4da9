import { IdOrder } from '../../../../../node/engine/directory/id-order';
import { eventually } from '../../../../support/eventually';
import { seededRandom } from '../../../../support/values/random';

/** Stands for a directory. */
class Slots {
  readonly ids = new Map<number, string>();
  readonly hidden = new Set<number>();
  isBroken = false;
  failures = 0;
  private free = 0;
  private readonly slotOf = new Map<string, number>();

  constructor(private readonly order: () => IdOrder) {}

  *liveSlots(): Iterable<number> {
    for (const slot of [...this.ids.keys()].sort((a, b) => a - b)) if (this.isLive(slot)) yield slot;
  }

  isLive(slot: number): boolean {
    return this.ids.has(slot) && !this.hidden.has(slot);
  }

  externalIdOf(slot: number): string {
    if (this.isBroken) {
      this.failures += 1;
      throw new Error('it is closed');
    }
    return this.ids.get(slot)!;
  }

  put(id: string): void {
    this.remove(id);
    const slot = this.free++;
    this.ids.set(slot, id);
    this.slotOf.set(id, slot);
    this.order().touch(slot);
  }

  remove(id: string): void {
    const slot = this.slotOf.get(id);
    if (slot === undefined) return;
    this.order().touch(slot);
    this.ids.delete(slot);
    this.slotOf.delete(id);
  }
}

const LIMITS = { changed: 100_000, passed: 65_536, idleMs: 300_000 };

function newOrder(limits: Partial<typeof LIMITS>): { order: IdOrder; slots: Slots } {
  const slots: Slots = new Slots(() => order);
  const order = new IdOrder(slots, { ...LIMITS, ...limits });
  return { order, slots };
}

function allOf(order: IdOrder, slots: Slots, isIn: (slot: number) => boolean, count: number): string[] {
  const bitmap = new Uint32Array(1_000);
  for (const slot of slots.ids.keys()) if (isIn(slot)) bitmap[slot >>> 5] |= 1 << (slot & 31);
  const ids: string[] = [];
  for (let behind: string | null = null; ;) {
    const found: { slots: number[]; last: string | null } = order.next(behind, count, bitmap);
    expect(found.slots.length).toBeLessThanOrEqual(count);
    ids.push(...found.slots.map((slot) => slots.ids.get(slot)!));
    if (found.last === null) return ids;
    expect(behind === null || found.last > behind).toBe(true);
    behind = found.last;
  }
}

test.each([1, 2, 3])('what is put, emptied and hidden, also while it is made: seed %i', async (seed) => {
  const random = seededRandom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const { order, slots } = newOrder({ passed: 50 });
  const ids = Array.from({ length: 6_000 }, (_, i) => (i % 3 === 0 ? `ü-${i % 500}-${i}` : `${(i * 7_919) % 6_000}`));
  const write = (): void => {
    const id = ids[below(ids.length)];
    if (below(3) === 0) slots.remove(id);
    else slots.put(id);
  };
  for (const id of ids.slice(0, 5_000)) slots.put(id);
  await eventually('it is made', () => {
    for (let i = 0; i < 20; i += 1) write();
    return order.isReady();
  });
  for (let round = 0; round < 20; round += 1) {
    for (let i = below(700); i > 0; i -= 1) write();
    if (round % 4 === 0) for (const slot of slots.liveSlots()) if (below(500) === 0) slots.hidden.add(slot);
    if (below(2) === 0) while (order.refresh().next().done !== true);
    const step = [1, 3, 400][below(3)];
    const passing = [...slots.ids].filter(([slot]) => slot % step === 0 && slots.isLive(slot));
    const expected = passing.map(([, id]) => id).sort((a, b) => (a < b ? -1 : 1));
    expect(allOf(order, slots, (slot) => slot % step === 0, 1 + below(100))).toEqual(expected);
  }
});

test('takes no memory until it is wanted, when nobody asks any more, and after very many writes', async () => {
  const { order, slots } = newOrder({ changed: 50, idleMs: 200 });
  const put = (count: number): void => {
    for (let i = 0; i < count; i += 1) slots.put(`item-${i}`);
  };
  put(1_000);
  expect(order.memoryBytes).toBe(0);
  await eventually('it is made', () => order.isReady());
  expect(order.memoryBytes).toBeGreaterThanOrEqual(4_000);
  await eventually('nobody asks', () => order.memoryBytes === 0);
  await eventually('it is made again', () => order.isReady());
  put(51);
  expect(order.memoryBytes).toBe(0);
  expect(order.isReady()).toBe(false);
  // What fails is tried again.
  slots.isBroken = true;
  await eventually('it has failed', () => slots.failures > 0);
  slots.isBroken = false;
  await eventually('it is made again', () => order.isReady());
});
