import type { BackupTarget } from '../../../../shared/backup-store/backup-target';
import { type CheckedObject, getChecked } from '../../../../shared/backup-store/backup-format';

/**
 * Objects of some MiB that are on their way at once: a store far away answers late, and what is read is compared beside
 * it.
 */
const AHEAD = 4;

/** Objects, each as it has to be, in their order. Errors: as getChecked. */
export async function* inOrder<Named extends CheckedObject>(
  target: BackupTarget,
  objects: readonly Named[],
): AsyncIterable<{ object: Named; bytes: Buffer }> {
  const coming: Promise<Buffer>[] = [];
  for (let next = 0; next < objects.length || coming.length > 0;) {
    while (coming.length < AHEAD && next < objects.length) {
      const found = getChecked(target, objects[next++]);
      // Its error is handled when its turn comes.
      found.catch(() => undefined);
      coming.push(found);
    }
    const object = objects[next - coming.length];
    yield { object, bytes: await coming.shift()! };
  }
}
