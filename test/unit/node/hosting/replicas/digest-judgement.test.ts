import { judgeDigests } from '../../../../../node/hosting/replicas/digest-judgement';
import type { ReplicaDigest } from '../../../../../shared/cluster-store/entries/node-report';

const holding = (content: string): ReplicaDigest => ({
  appliedSequence: 9,
  items: 2,
  content,
  order: 'o',
  sessions: 's',
});

/** What the primary holds, what the others hold, and what follows. */
test.each([
  ['one follower, the same', 'x', ['x'], { type: 'same' }],
  ['one follower that differs', 'x', ['y'], { type: 'replace', node: 'n0' }],
  ['two followers, one differs', 'x', ['x', 'y'], { type: 'replace', node: 'n1' }],
  ['two followers that differ from each other, too', 'x', ['y', 'z'], { type: 'replace', node: 'n0' }],
  ['two followers that agree against the primary', 'x', ['y', 'y'], { type: 'handOver', node: 'n0' }],
  ['two against two', 'x', ['x', 'y', 'y'], { type: 'replace', node: 'n1' }],
  ['three against two', 'x', ['x', 'y', 'y', 'y'], { type: 'handOver', node: 'n1' }],
])('%s', (_, own, others, expected) => {
  expect(judgeDigests(holding(own), new Map(others.map((content, i) => [`n${i}`, holding(content)])))).toEqual(
    expected,
  );
});

test.each([{ items: 3 }, { order: 'p' }, { sessions: 't' }])('%j alone is a difference', (part) => {
  expect(judgeDigests(holding('x'), new Map([['n0', { ...holding('x'), ...part }]]))).toEqual({
    type: 'replace',
    node: 'n0',
  });
});
