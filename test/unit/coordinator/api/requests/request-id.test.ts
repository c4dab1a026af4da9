import { newRequestId } from '../../../../../coordinator/api/requests/request-id';

test('ids are random UUIDs of version 4, each its own', () => {
  const ids = Array.from({ length: 1000 }, () => newRequestId());
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
  // Every place that is random has all of its digits somewhere.
  for (const place of [0, 7, 9, 16, 20, 24, 35]) expect(new Set(ids.map((id) => id[place])).size).toBe(16);
});
