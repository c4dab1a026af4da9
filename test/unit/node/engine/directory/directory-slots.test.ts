import { Directory } from '../../../../../node/engine/directory/directory';
import type { IdTable } from '../../../../../node/engine/directory/id-table';

/** Slots of many ids. What items there are is tested with the directory's model. */

function directoryOf(ids: string[]): Directory {
  const directory = new Directory();
  for (const [slot, externalId] of ids.entries())
    directory.put(slot, { externalId, recno: 1, stamp: 1, version: 1, metadata: '{}', hasText: false });
  return directory;
}

test('an id is found behind another with its hash', () => {
  const directory = directoryOf(['a', 'b', 'c']);
  const { ids } = directory as unknown as { ids: IdTable };
  // Nobody can make two ids that collide in every process.
  jest.spyOn(ids, 'firstOf').mockReturnValue(Int32Array.of(2, 1, -1));
  expect([...directory.slotsOf(['a', 'b', 'nobody'])].sort((a, b) => a - b)).toEqual([0, 1]);
});

test('what is hidden has none', () => {
  const directory = directoryOf(['a', 'b']);
  directory.hide(0);
  expect([...directory.slotsOf(['a', 'b'])]).toEqual([1]);
  expect([...directory.slotsOf([])]).toEqual([]);
});
