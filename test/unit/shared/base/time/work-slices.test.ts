import { pagedPieces } from '../../../../../coordinator/api/answers/answer-json';
import { inTurn, ownTurn, SLICE_MS } from '../../../../../shared/base/time/work-slices';

/** The time of this test: work takes as long as it says. */
let nowMs = 0;
let spy: jest.SpyInstance;
/** Rounds of the event loop so far. */
let round = 0;
let isOver = false;

beforeEach(() => {
  spy = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  round = 0;
  isOver = false;
  const count = (): void => {
    round += 1;
    if (!isOver) setImmediate(count);
  };
  count();
});
afterEach(async () => {
  isOver = true;
  await new Promise((wake) => setImmediate(wake));
  spy.mockRestore();
});

/** `parts` of so many milliseconds each; answers in which round each ran. */
async function work(parts: number, partMs: number): Promise<number[]> {
  const rounds: number[] = [];
  for (let part = 0; part < parts; part += 1) {
    const turn = ownTurn();
    if (turn !== undefined) await turn;
    rounds.push(round);
    nowMs += partMs;
  }
  return rounds;
}

function mostInOne(rounds: number[]): number {
  const counts = new Map<number, number>();
  for (const one of rounds) counts.set(one, (counts.get(one) ?? 0) + 1);
  return Math.max(...counts.values());
}

test('parts of many that come at once share a round: what it has no time for waits for a later one', async () => {
  const rounds = (await Promise.all(Array.from({ length: 100 }, () => work(1, 1)))).flat();
  expect(mostInOne(rounds)).toBeLessThanOrEqual(SLICE_MS + 1);
  expect(rounds).toEqual([...rounds].sort((a, b) => a - b));
});

test('parts of one that is alone run until the slice is over, and go on in the next round', async () => {
  const rounds = await work(100, 1);
  expect(mostInOne(rounds)).toBeLessThanOrEqual(2 * SLICE_MS + 1);
  expect(new Set(rounds).size).toBeLessThan(100);
});

test('little work waits for nothing', async () => {
  const rounds = (await Promise.all(Array.from({ length: 100 }, () => work(1, 0.01)))).flat();
  expect(new Set(rounds).size).toBe(1);
});

test('other long work comes to its turn between such parts', async () => {
  const parts = Promise.all(Array.from({ length: 50 }, () => work(1, 2)));
  let other = -1;
  const begun = round;
  await inTurn(() => (other = round));
  expect(other - begun).toBeLessThan(60);
  await parts;
});

test('the text of many answers that are there at once is made in several rounds', async () => {
  const rounds: number[] = [];
  const element = (text: string): string => {
    rounds.push(round);
    nowMs += 1;
    return text;
  };
  async function* pages(): AsyncGenerator<string[]> {
    yield ['1', '2'];
    yield ['3'];
  }
  const texts = Array.from({ length: 100 }, async () => {
    let text = '';
    for await (const piece of pagedPieces('', pages(), element, () => '')) text += piece;
    return text;
  });
  expect(new Set(await Promise.all(texts))).toEqual(new Set(['[1,2,3]']));
  expect(mostInOne(rounds)).toBeLessThanOrEqual(2 * SLICE_MS + 1);
});
