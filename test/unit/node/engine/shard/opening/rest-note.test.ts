import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forgetRest } from '../../../../../../node/engine/shard/opening/rest-note';
import * as stable from '../../../../../../shared/base/files/stable-folder';

jest.mock('../../../../../../shared/base/files/stable-folder', () => ({
  ...jest.requireActual<object>('../../../../../../shared/base/files/stable-folder'),
  syncFolder: jest.fn(async () => undefined),
}));

test('what was noted is gone for good, also when one that removed it before could not sync that', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-rest-note-'));
  try {
    writeFileSync(join(folder, 'rest.json'), '{}');
    for (const times of [1, 2]) {
      await forgetRest(folder);
      expect(stable.syncFolder).toHaveBeenCalledTimes(times);
      expect(stable.syncFolder).toHaveBeenLastCalledWith(folder);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
