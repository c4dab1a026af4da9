import { mustWorkWithMembers } from '../../../../shared/cluster/member-compatibility';
import {
  everyoneKnows,
  incompatibilityOf,
  type MemberVersion,
  OWN_VERSION,
  UNVERSIONED,
  versionFromFields,
  versionFromText,
  versionToFields,
  versionToText,
} from '../../../../shared/process/member-version';

const later: MemberVersion = { protocol: 5, oldest: 3, features: ['digest-at', 'of-tomorrow'] };

test.each([
  ['this program', OWN_VERSION],
  ['a later one', later],
  ['one without features', { protocol: 2, oldest: 1, features: [] }],
  ['one of before there were versions', UNVERSIONED],
])('the version of %s comes back as it was registered and as it was sent', (_, version) => {
  expect(versionFromFields(JSON.parse(JSON.stringify(versionToFields(version))))).toEqual(version);
  expect(versionFromText(versionToText(version))).toEqual(version);
});

test('a program of before there were versions says nothing, and who says nothing or nonsense is one', () => {
  expect(versionToFields(UNVERSIONED)).toEqual({});
  expect(versionToText(UNVERSIONED)).toBe('');
  for (const text of ['', '2', '5 3;4', 'x y z']) expect(versionFromText(text)).toEqual(UNVERSIONED);
});

test.each([
  ['5 3 A;B', []],
  ['5 3 digest-at,A;B,of-tomorrow', ['digest-at', 'of-tomorrow']],
  ['5 3 digest-at built=2030', ['digest-at']],
])('of %s, what this program does not know is left out, and the numbers count', (text, features) => {
  expect(versionFromText(text)).toEqual({ protocol: 5, oldest: 3, features });
});

test('this program works with itself and with one of before there were versions', () => {
  for (const other of [OWN_VERSION, UNVERSIONED]) {
    expect(incompatibilityOf(OWN_VERSION, other, 'b')).toBeNull();
    expect(incompatibilityOf(other, OWN_VERSION, 'b')).toBeNull();
  }
});

test('versions that are too far apart are told by both sides in one line with both versions', () => {
  const early = { protocol: 2, oldest: 1, features: [] };
  const told = 'protocol 5 (works with 3 and later)';
  expect(incompatibilityOf(early, later, 'b')).toBe(`member b speaks ${told} and this one protocol 2 (works with 1 and later), which is too far apart: this program is too old for the cluster`);
  expect(incompatibilityOf(later, early, 'a')).toMatch(/^member a speaks protocol 2 [^\n]* and this one protocol 5 [^\n]*: upgrade that member to a release in between first$/);
});

test('a feature may be used only if everybody is known to know it', () => {
  expect(everyoneKnows('digest-at', [OWN_VERSION, later])).toBe(true);
  expect(everyoneKnows('digest-at', [OWN_VERSION, UNVERSIONED])).toBe(false);
  expect(everyoneKnows('digest-at', [OWN_VERSION, null])).toBe(false);
});

test('an unreadable entry of a member keeps nobody from joining, and is logged', async () => {
  const values = ['', 'null', '{"id"', JSON.stringify({ id: 'd', ...versionToFields(OWN_VERSION) })];
  const store = { list: async () => ({ entries: values.map((value, i) => ({ key: `/q/nodes/${i}`, revision: 1, value })), revision: 1 }) };
  const keys: unknown[] = [];
  await mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: '/q/nodes/own', log: { error: (fields) => keys.push(fields.key) } });
  // Both kinds of members are looked at.
  expect(keys).toEqual([0, 1, 2, 0, 1, 2].map((i) => `/q/nodes/${i}`));
});

test('a member does not join those that it can not work with; what an earlier life of it left does not count', async () => {
  const entry = (key: string, version: MemberVersion) => ({ key, revision: 1, value: JSON.stringify({ id: key.split('/')[3], ...versionToFields(version) }) });
  const entries = [entry('/q/nodes/a', OWN_VERSION), entry('/q/nodes/b', UNVERSIONED), entry('/q/coordinators/c', later)];
  const log = { error: () => undefined };
  const store = { list: async (prefix: string) => ({ entries: entries.filter(({ key }) => key.startsWith(prefix)), revision: 1 }) };
  await mustWorkWithMembers(store, { own: { protocol: 3, oldest: 1, features: [] }, ownKey: '/q/nodes/a', log });
  await expect(mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: '/q/nodes/a', log })).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringContaining('member c speaks protocol 5'),
  });
  await mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: '/q/coordinators/c', log });
});
