import {
  edited,
  editsOf,
  isKept,
  nextToGrade,
  type JudgedQuery,
  queriesOf,
  readJudged,
  sentJudged,
  toldQuery,
} from '../../../../dashboard/lab/judged';

const car: JudgedQuery = { query: 'car', grades: new Map([['a', 2]]) };
const boat: JudgedQuery = { query: 'boat', grades: new Map([['b', 0]]) };

test('grades go in and out as the API has them, whatever the ids are', () => {
  const sent = [{ query: 'car', relevant: { constructor: 2, b: 0 } }];
  expect(readJudged(sent)[0]?.grades.get('constructor')).toBe(2);
  expect(readJudged(sent)[0]?.grades.get('toString')).toBeUndefined();
  expect(sentJudged(readJudged(sent))).toEqual(sent);
});

test('changes are made in their order, and leave the other queries where they are', () => {
  const after = edited(
    [car, boat],
    [
      { type: 'grade', query: 'car', id: 'c', grade: 1 },
      { type: 'grade', query: 'car', id: 'a', grade: null },
      { type: 'grade', query: 'tree', id: 't', grade: 3 },
      { type: 'add', query: 'boat' },
    ],
  );
  expect(sentJudged(after)).toEqual([
    { query: 'car', relevant: { c: 1 } },
    { query: 'boat', relevant: { b: 0 } },
    { query: 'tree', relevant: { t: 3 } },
  ]);
  expect(edited(after, [{ type: 'remove', query: 'car' }]).map(({ query }) => query)).toEqual(['boat', 'tree']);
  expect(car.grades.size).toBe(1);
});

test('a query is kept with a grade above 0, and its changes make it anew', () => {
  expect([car, boat].map(isKept)).toEqual([true, false]);
  expect(edited([], [car, boat].flatMap(editsOf))).toEqual([car, boat]);
});

test('lines are queries: trimmed, none twice, none that is there', () => {
  expect(queriesOf(' red car \n\ncar\nred car\nbóat\r\n', [car])).toEqual(['red car', 'bóat']);
});

test('a long query is known by the beginning that a result tells', () => {
  const long: JudgedQuery = { query: 'x'.repeat(300), grades: new Map() };
  expect(toldQuery(`${'x'.repeat(199)}…`, [car, long])).toBe(long.query);
  expect(toldQuery('car', [car])).toBe('car');
  expect(toldQuery('none', [car])).toBe('none');
});

test('the next query to grade comes in turn', () => {
  const judged = [boat, car, { query: 'tree', grades: new Map() }];
  expect(nextToGrade(judged, 'boat')).toBe('tree');
  expect(nextToGrade(judged, 'tree')).toBe('boat');
  expect(nextToGrade(judged, 'not there')).toBe('boat');
  expect(nextToGrade([car, boat], 'boat')).toBeNull();
});
