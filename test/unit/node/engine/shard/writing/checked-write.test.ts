import { checkOperations } from '../../../../../../node/engine/shard/writing/checked-write';
import {
  type DedupOperation,
  NO_TERM,
  PLAIN_STEP,
  type WriteOperation,
} from '../../../../../../shared/contract/shard/shard-client';
import { stepNote } from '../../../../../../shared/contract/shard/step-note';
import { resultOf } from '../../../../../../shared/base/time/work-slices';

const check = (operations: WriteOperation[]): unknown => resultOf(checkOperations(operations, 2, () => undefined));
const markOf = (more: Partial<DedupOperation>): DedupOperation => ({
  type: 'dedup',
  token: 'a'.repeat(32),
  digest: 'b'.repeat(32),
  nowMs: 1,
  keptMs: 1,
  bytesMax: 1,
  step: PLAIN_STEP,
  note: '',
  term: NO_TERM,
  ...more,
});

test('a mark of a step must have a key, or the shard could not note which item it could not change, and so not apply it', () => {
  expect(check([markOf({})])).toHaveLength(1);
  expect(check([markOf({ step: 0, note: stepNote('{}', 'c'.repeat(64)) })])).toHaveLength(1);
  for (const note of ['', '{"reached":"all"}', 'c'.repeat(63)])
    expect(() => check([markOf({ step: 0, note })])).toThrow('a mark that is none');
  // In one that a reshard takes along, the step means something else.
  expect(check([markOf({ step: 1, note: 'AAAA', term: 2 })])).toHaveLength(1);
});
