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
  for (const text of ['', '2', 'x y z', '2 1 A;B']) expect(versionFromText(text)).toEqual(UNVERSIONED);
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

test('a member does not join those that it can not work with; what an earlier life of it left does not count', async () => {
  const entry = (key: string, version: MemberVersion) => ({ key, revision: 1, value: JSON.stringify({ id: key.split('/')[3], ...versionToFields(version) }) });
  const entries = [entry('/q/nodes/a', OWN_VERSION), entry('/q/nodes/b', UNVERSIONED), entry('/q/coordinators/c', later)];
  const store = { list: async (prefix: string) => ({ entries: entries.filter(({ key }) => key.startsWith(prefix)), revision: 1 }) };
  await mustWorkWithMembers(store, { protocol: 3, oldest: 1, features: [] }, '/q/nodes/a');
  await expect(mustWorkWithMembers(store, OWN_VERSION, '/q/nodes/a')).rejects.toMatchObject({ kind: 'invalid_parameter', message: expect.stringContaining('member c speaks protocol 5') });
  await mustWorkWithMembers(store, OWN_VERSION, '/q/coordinators/c');
});
