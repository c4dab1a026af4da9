import { AppliedStops } from '../../../../node/replication/applied-stops';

test('who gives up while another looks at the same place is not waited for', async () => {
  const stops = new AppliedStops();
  const looked: string[] = [];
  const look = (name: string, meanwhile = (): void => undefined) =>
    stops.add(5, async () => {
      looked.push(name);
      meanwhile();
    });
  look('first', () => giveUp());
  const giveUp = look('second');
  look('third');
  expect(stops.nextAfter(4)).toBe(5);
  await stops.reached(5);
  expect(looked).toEqual(['first', 'third']);
  expect(stops.nextAfter(4)).toBe(Infinity);
});
