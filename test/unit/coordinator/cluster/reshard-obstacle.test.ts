import { reshardObstacle } from '../../../../coordinator/cluster/reshard-obstacle';

type Map = Parameters<typeof reshardObstacle>[0];

const able = { protocol: 2, oldestProtocol: 1, features: ['reshard'] };
const entries = (values: object[]) => ({ all: () => values.map((value) => ({ value })) });

function mapOf(parts: { nodes: Record<string, object | null>; coordinators?: Record<string, object>; holders?: string[] }): Map {
  const present = Object.entries(parts.nodes).filter(([, fields]) => fields !== null);
  return {
    coordinators: entries(Object.entries(parts.coordinators ?? { 'c-0': able }).map(([id, fields]) => ({ id, ...fields }))),
    nodes: entries(present.map(([id, fields]) => ({ id, ...fields }))),
    assignments: entries([{ replicas: parts.holders ?? Object.keys(parts.nodes) }]),
    lastSeenNode: (id: string) => parts.nodes[id] ?? null,
  } as unknown as Map;
}

test('the number of shards can be changed once every member is known to be able to', () => {
  expect(reshardObstacle(mapOf({ nodes: { a: able, b: able } }))).toBeNull();
  expect(reshardObstacle(mapOf({ nodes: { a: able, b: {} } }))).toContain('b is of an earlier version');
  expect(reshardObstacle(mapOf({ nodes: { a: able, b: { protocol: 2, features: ['digest-at'] } } }))).toContain('b is of');
  expect(reshardObstacle(mapOf({ nodes: { a: able }, coordinators: { 'c-0': able, 'c-1': {} } }))).toContain('c-1 is of');
});

test('a node that holds shards and was not seen may be of an earlier version', () => {
  expect(reshardObstacle(mapOf({ nodes: { a: able, gone: null } }))).toContain('gone is of an earlier version, or not seen yet');
  expect(reshardObstacle(mapOf({ nodes: { a: able, gone: null }, holders: ['a'] }))).toBeNull();
});
