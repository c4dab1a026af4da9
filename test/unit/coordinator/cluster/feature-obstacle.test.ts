import { featureObstacle } from '../../../../coordinator/cluster/feature-obstacle';

type Map = Parameters<typeof featureObstacle>[0];

const able = { protocol: 4, oldestProtocol: 3, features: ['of-next'] };
const entries = (values: object[]) => ({ all: () => values.map((value) => ({ value })) });

function mapOf(parts: {
  nodes: Record<string, object | null>;
  coordinators?: Record<string, object>;
  holders?: string[];
}): Map {
  const present = Object.entries(parts.nodes).filter(([, fields]) => fields !== null);
  return {
    coordinators: entries(
      Object.entries(parts.coordinators ?? { 'c-0': able }).map(([id, fields]) => ({ id, ...fields })),
    ),
    nodes: entries(present.map(([id, fields]) => ({ id, ...fields }))),
    holders: () => new Set(parts.holders ?? Object.keys(parts.nodes)),
    lastSeenNode: (id: string) => parts.nodes[id] ?? null,
  } as unknown as Map;
}

test('something new can be used once every member is known to be able to', () => {
  expect(featureObstacle(mapOf({ nodes: { a: able, b: able } }), 'of-next', 'something new can be used')).toBeNull();
  expect(featureObstacle(mapOf({ nodes: { a: able, b: {} } }), 'of-next', 'something new can be used')).toContain(
    'b is of an earlier version',
  );
  expect(
    featureObstacle(
      mapOf({ nodes: { a: able, b: { protocol: 4, features: ['another'] } } }),
      'of-next',
      'something new can be used',
    ),
  ).toContain('b is of');
  expect(
    featureObstacle(
      mapOf({ nodes: { a: able }, coordinators: { 'c-0': able, 'c-1': {} } }),
      'of-next',
      'something new can be used',
    ),
  ).toContain('c-1 is of');
});

test('a node that holds shards and was not seen may be of an earlier version', () => {
  expect(featureObstacle(mapOf({ nodes: { a: able, gone: null } }), 'of-next', 'something new can be used')).toBe(
    'something new can be used once every member is known to be able to: gone is away, and nobody noted of which version: start or drain it',
  );
  expect(
    featureObstacle(mapOf({ nodes: { a: able, gone: null }, holders: ['a'] }), 'of-next', 'something new can be used'),
  ).toBeNull();
});
