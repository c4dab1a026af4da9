import { mustWorkWithMembers } from '../../../../../shared/cluster-store/entries/member-compatibility';
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
} from '../../../../../shared/base/process/member-version';

const later: MemberVersion = { protocol: 5, oldest: 4, features: ['of-next', 'of-tomorrow'] };
const next: MemberVersion = { protocol: 4, oldest: 3, features: ['of-next'] };
/** What members of releases before 0.2.0 said, and the first of them nothing. */
const BEFORE: MemberVersion[] = [{ protocol: 2, oldest: 1, features: ['digest-at'] }, UNVERSIONED];

test.each([
  ['this program', OWN_VERSION],
  ['a later one', later],
  ['one without features', { protocol: 4, oldest: 3, features: [] }],
])('the version of %s comes back as it was registered and as it was sent', (_, version) => {
  expect(versionFromFields(JSON.parse(JSON.stringify(versionToFields(version))))).toEqual(version);
  expect(versionFromText(versionToText(version))).toEqual(version);
});

test('who says nothing or nonsense is of before 0.2.0', () => {
  expect(versionFromFields({})).toEqual(UNVERSIONED);
  for (const text of ['', '2', '5 3;4', 'x y z']) expect(versionFromText(text)).toEqual(UNVERSIONED);
});

test.each([
  ['5 3 A;B', []],
  ['5 3 of-next,A;B,of-tomorrow', ['of-next', 'of-tomorrow']],
  ['5 3 of-next built=2030', ['of-next']],
])('of %s, what this program does not know is left out, and the numbers count', (text, features) => {
  expect(versionFromText(text)).toEqual({ protocol: 5, oldest: 3, features });
});

test('this program works with itself and with the next protocol version, and with no other', () => {
  for (const other of [OWN_VERSION, next]) {
    expect(incompatibilityOf(OWN_VERSION, other, 'b')).toBeNull();
    expect(incompatibilityOf(other, OWN_VERSION, 'b')).toBeNull();
  }
  for (const other of [later, ...BEFORE]) {
    expect(incompatibilityOf(OWN_VERSION, other, 'b')).not.toBeNull();
    expect(incompatibilityOf(other, OWN_VERSION, 'b')).not.toBeNull();
  }
});

test('versions that are too far apart are told by both sides in one line with both versions and the way out', () => {
  const told = 'protocol 5 (works with 4 and later)';
  expect(incompatibilityOf(OWN_VERSION, later, 'b')).toBe(
    `member b speaks ${told} and this one protocol 3 (works with 3 and later), which is too far apart: this program is too old for the cluster; start it with a later release`,
  );
  expect(incompatibilityOf(later, OWN_VERSION, 'a')).toMatch(
    /^member a speaks protocol 3 [^\n]* and this one protocol 5 [^\n]*: upgrade that member to a release in between first$/,
  );
  const [before] = BEFORE;
  const speaks = 'protocol 2 (of a release before 0.2.0; works with 1 and later)';
  const advice =
    'members of before 0.2.0 are not upgraded one by one. Stop all members, then start all of them with the later release; their data stay';
  expect(incompatibilityOf(OWN_VERSION, before, 'b')).toBe(
    `member b speaks ${speaks} and this one protocol 3 (works with 3 and later), which is too far apart: ${advice}`,
  );
  expect(incompatibilityOf(before, OWN_VERSION, 'a')).toBe(
    `member a speaks protocol 3 (works with 3 and later) and this one ${speaks}, which is too far apart: ${advice}`,
  );
});

/**
 * How something new is begun: its name goes into FEATURES, and who would use it asks the programs whom it concerns, as
 * they said of themselves at the other end of a stream or in their registrations. During an upgrade some don't know it
 * yet.
 */
test('a feature may be used only if everybody is known to know it', () => {
  const feature = 'of-next';
  expect(everyoneKnows(feature, [next, later])).toBe(true);
  expect(everyoneKnows(feature, [next, OWN_VERSION])).toBe(false);
  expect(everyoneKnows(feature, [next, null])).toBe(false);
});

test('an unreadable entry of a member keeps nobody from joining, and is logged', async () => {
  const values = ['', 'null', '{"id"', JSON.stringify({ id: 'd', ...versionToFields(OWN_VERSION) })];
  const store = {
    list: async () => ({
      entries: values.map((value, i) => ({ key: `/q/nodes/${i}`, revision: 1, value })),
      revision: 1,
    }),
  };
  const keys: unknown[] = [];
  await mustWorkWithMembers(store, {
    own: OWN_VERSION,
    ownKey: '/q/nodes/own',
    log: { error: (fields) => keys.push(fields.key) },
  });
  // Both kinds of members are looked at.
  expect(keys).toEqual([0, 1, 2, 0, 1, 2].map((i) => `/q/nodes/${i}`));
});

test('a member does not join those that it can not work with; what an earlier life of it left does not count', async () => {
  const entry = (key: string, version: MemberVersion) => ({
    key,
    revision: 1,
    value: JSON.stringify({ id: key.split('/')[3], ...versionToFields(version) }),
  });
  const entries = [entry('/q/nodes/a', OWN_VERSION), entry('/q/nodes/b', next), entry('/q/coordinators/c', later)];
  const log = { error: () => undefined };
  const store = {
    list: async (prefix: string) => ({ entries: entries.filter(({ key }) => key.startsWith(prefix)), revision: 1 }),
  };
  await mustWorkWithMembers(store, { own: { protocol: 4, oldest: 3, features: [] }, ownKey: '/q/nodes/a', log });
  await expect(mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: '/q/nodes/a', log })).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringContaining('member c speaks protocol 5'),
  });
  await mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: '/q/coordinators/c', log });
  for (const before of BEFORE) {
    entries[1] = entry('/q/nodes/b', before);
    await expect(
      mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: '/q/coordinators/c', log }),
    ).rejects.toMatchObject({
      message: expect.stringMatching(
        /^member b speaks protocol [12] \(of a release before 0\.2\.0; .* Stop all members/,
      ),
    });
  }
});
