import { SharedScrape } from '../../../../../shared/base/metrics/shared-scrape';
import { ManualClock } from '../../../../support/manual-clock';

/** One scrape for all who ask: how many are built, and who waits for the next one. */

function scrapes(build: (count: number) => Promise<string> = async (count) => `scrape ${count}`) {
  const clock = new ManualClock();
  let built = 0;
  const shared = new SharedScrape({
    build: async () => ({ contentType: 'text/plain', text: await build(++built) }),
    clock,
  });
  return { clock, shared, built: () => built, read: async () => (await shared.read()).text.toString() };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('who asks while one is built waits for that one', async () => {
  let finish: (text: string) => void = () => undefined;
  const { read, built } = scrapes(() => new Promise((resolve) => (finish = resolve)));
  const readers = Array.from({ length: 100 }, read);
  finish('the only one');
  expect(new Set(await Promise.all(readers))).toEqual(new Set(['the only one']));
  expect(built()).toBe(1);
});

test('a flood gets the first few at once and the rest with the next one, a second later', async () => {
  const { read, built, clock } = scrapes();
  expect(await read()).toBe('scrape 1');
  const answers: string[] = [];
  const readers = Array.from({ length: 40 }, async () => void answers.push(await read()));
  await Promise.all(readers.slice(0, 7));
  expect(answers).toEqual(new Array(7).fill('scrape 1'));
  clock.advance(1000);
  await jest.advanceTimersByTimeAsync(1000);
  await Promise.all(readers);
  expect(answers.slice(7)).toEqual(new Array(33).fill('scrape 2'));
  expect(built()).toBe(2);
});

test('a failure is told to those who wait for it, and not kept', async () => {
  const { read } = scrapes(async (count) => {
    if (count === 1) throw new Error('not now');
    return 'well';
  });
  await expect(Promise.all([read(), read()])).rejects.toThrow('not now');
  expect(await read()).toBe('well');
});
