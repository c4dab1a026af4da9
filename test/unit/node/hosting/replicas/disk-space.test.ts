import { tmpdir } from 'node:os';
import { diskSpaceOf, isNotable } from '../../../../../node/hosting/replicas/disk-space';

test('the disk of a folder has a size and room in it; that of none is unknown', async () => {
  const { diskBytes, freeBytes } = await diskSpaceOf(tmpdir());
  expect(diskBytes).toBeGreaterThan(0);
  expect(freeBytes).toBeGreaterThanOrEqual(0);
  expect(freeBytes).toBeLessThanOrEqual(diskBytes);
  expect(await diskSpaceOf('/no/such/folder')).toEqual({ diskBytes: 0, freeBytes: 0 });
});

test('a change is notable from a hundredth of the disk on, and when the disk is another', () => {
  const told = { diskBytes: 1000, freeBytes: 500 };
  expect(isNotable(told, { diskBytes: 1000, freeBytes: 505 })).toBe(false);
  expect(isNotable(told, { diskBytes: 1000, freeBytes: 489 })).toBe(true);
  expect(isNotable(told, { diskBytes: 2000, freeBytes: 500 })).toBe(true);
});
