import { type JobRecord, newJobRecord } from '../../../../../coordinator/jobs/record/job-record';
import { JobTurns } from '../../../../../coordinator/jobs/record/job-turns';

/** Whose turn it is among jobs of a kind. */

let count = 0;
const job = (subject: string, collection = 'c'): JobRecord =>
  newJobRecord({ id: `count-${count}`, kind: 'count', collection, subject, input: null, unit: '' }, (count += 1));

const found = (value: JobRecord) => ({ key: value.id, value, revision: 1 });

function begun(running: JobRecord[], waiting: JobRecord[], { atOnce = 4, levels = 2 } = {}): string[] {
  const sharesOf = ({ subject, collection }: JobRecord) => [subject, collection!].slice(0, levels);
  const turns = new JobTurns(levels === 0 ? { atOnce } : { atOnce, sharesOf });
  for (const one of running) turns.noteRunning(one);
  for (const one of waiting) turns.add(found(one));
  return [...turns.next()].map(({ value }) => `${value.subject}/${value.collection}/${value.id}`);
}

beforeEach(() => (count = 0));

test('a key with many jobs leaves others their turns, and so does a collection', () => {
  const many = Array.from({ length: 20 }, () => job('one', 'a'));
  const few = [job('two', 'b'), job('one', 'b'), job('two', 'b')];
  const order = begun([], [...many, ...few]);
  expect(order).toEqual(['one/a/count-0', 'two/b/count-20', 'one/b/count-21', 'two/b/count-22']);
});

test('those that run count', () => {
  const running = [job('one', 'a'), job('one', 'b')];
  const waiting = [job('one', 'c'), job('two', 'a'), job('two', 'a')];
  expect(begun(running, waiting, { atOnce: 4 })).toEqual(['two/a/count-3', 'two/a/count-4']);
  expect(begun(running, waiting, { atOnce: 2 })).toEqual([]);
});

test('without shares, and among equals, the oldest is first', () => {
  const waiting = Array.from({ length: 6 }, (_, i) => job(`${i % 2}`));
  expect(begun([], waiting.toReversed(), { levels: 0 })).toEqual([0, 1, 2, 3].map((i) => `${i % 2}/c/count-${i}`));
  expect(begun([], waiting.toReversed())).toEqual([0, 1, 2, 3].map((i) => `${i % 2}/c/count-${i}`));
});

test('one that takes more places leaves fewer for others, and begins though fewer are left', () => {
  const placesOf = ({ subject }: JobRecord): number => (subject === 'large' ? 3 : 1);
  const beginning = (subjects: string[], running: string[] = []): string[] => {
    const turns = new JobTurns({ atOnce: 6, placesOf });
    for (const subject of running) turns.noteRunning(job(subject));
    for (const subject of subjects) turns.add(found(job(subject)));
    return [...turns.next()].map(({ value }) => value.subject);
  };
  expect(beginning(['large', 'large', 'large'])).toEqual(['large', 'large']);
  expect(beginning(Array.from({ length: 9 }, () => 'small'))).toHaveLength(6);
  expect(beginning(['small', 'small', 'large', 'large', 'small'], ['small'])).toEqual(['small', 'small', 'large']);
  expect(beginning(['large', 'small'], ['small', 'small', 'large'])).toEqual(['large']);
  expect(beginning(['small'], ['large', 'large'])).toEqual([]);
});

test('one share leaves some places to those who come later', () => {
  const begin = (running: string[], waiting: string[]): string[] => {
    const kind = {
      atOnce: 12,
      atOnceOfOne: 9,
      placesOf: () => 3,
      sharesOf: ({ subject }: JobRecord) => [subject, 'c'],
    };
    const turns = new JobTurns(kind);
    for (const subject of running) turns.noteRunning(job(subject));
    for (const subject of waiting) turns.add(found(job(subject)));
    return [...turns.next()].map(({ value }) => value.subject);
  };
  expect(begin([], ['a', 'a', 'a', 'a'])).toEqual(['a', 'a', 'a']);
  expect(begin(['a', 'a', 'a'], ['a', 'a', 'b', 'b'])).toEqual(['b']);
  expect(begin(['a', 'a'], ['a', 'a', 'b'])).toEqual(['b', 'a']);
});
