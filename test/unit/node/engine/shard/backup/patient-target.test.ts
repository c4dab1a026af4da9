import { TEST_SEALS } from '../../../../../support/cluster/test-seals';
import { PatientTarget } from '../../../../../../node/engine/shard/backup/patient-target';
import type { BackupTarget } from '../../../../../../shared/backup-store/backup-target';
import { type ErrorKind, QuiverError } from '../../../../../../shared/base/errors/quiver-error';

/** What a restored shard reads while the target fails for a while, or for good. */

const CONTENT = Buffer.from('content');

function targetWith(fail: () => ErrorKind | null): BackupTarget {
  const get = async (): Promise<Buffer> => {
    const kind = fail();
    if (kind !== null) throw new QuiverError(kind, 'the store is away');
    return CONTENT;
  };
  return {
    name: 'x',
    seals: TEST_SEALS,
    get,
    put: async () => undefined,
    create: async () => true,
    list: async () => [],
    delete: async () => undefined,
  };
}

/** Soon at its end with who fails for good; one that is to succeed has time for a machine that is busy. */
function patient(
  fail: () => ErrorKind | null,
  { ended = new AbortController().signal, unavailableMs = 300 } = {},
): PatientTarget {
  return new PatientTarget(targetWith(fail), {
    ended,
    log: { warn: () => undefined },
    patience: { unavailableMs, refusedMs: 20, firstPauseMs: 1 },
  });
}

test('a target that is away for a while is waited for', async () => {
  let left = 5;
  expect(await patient(() => (left-- > 0 ? 'unavailable' : null), { unavailableMs: 60_000 }).get('a')).toBe(CONTENT);
});

test.each(['unavailable', 'storage_failed'] as const)(
  'one that fails for good (%s) ends it, with the reason',
  async (kind) => {
    await expect(patient(() => kind).get('a')).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: 'the backup can not be read: the store is away',
    });
  },
);

test('a read that succeeds begins the time anew', async () => {
  let calls = 0;
  const target = patient(() => (calls++ % 2 === 0 ? 'storage_failed' : null));
  const untilMs = performance.now() + 60;
  while (performance.now() < untilMs) expect(await target.get('a')).toBe(CONTENT);
});

test('nobody waits for a shard that is not wanted any more', async () => {
  const ending = new AbortController();
  const target = patient(
    () => {
      ending.abort();
      return 'unavailable';
    },
    { ended: ending.signal },
  );
  await expect(target.get('a')).rejects.toMatchObject({ kind: 'unavailable' });
});

test.each(['get', 'list'] as const)('nor for a target that does not answer (%s)', async (call) => {
  const ending = new AbortController();
  const late: ((error: Error) => void)[] = [];
  const waits = (): Promise<never> => new Promise((_, fail) => late.push(fail));
  const silent = { ...targetWith(() => null), get: waits, list: waits };
  const asked = new PatientTarget(silent, {
    ended: ending.signal,
    log: { warn: () => undefined },
    patience: undefined,
  })[call]('a');
  ending.abort();
  await expect(asked).rejects.toMatchObject({ kind: 'unavailable', message: 'the shard is not wanted any more' });
  // What comes later is of no interest.
  late[0](new Error('it came too late'));
});
