import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandContext } from '../command-context';

/** Between two looks: short at first. */
const LOOK_FIRST_MS = 250;
const LOOK_LONGEST_MS = 2_000;

/**
 * Looks at long work of the service, such as `begun`, until it is over, and answers it as it is then. `onLook` hears of
 * each look at what is under way. A signal ends the wait, and not the work.
 */
export async function untilOver<Work>(
  { signal }: Pick<CommandContext, 'signal'>,
  begun: Work,
  how: { isOver: (work: Work) => boolean; look: () => Promise<Work>; onLook?: (work: Work) => void },
): Promise<Work> {
  let work = begun;
  for (let everyMs = LOOK_FIRST_MS; !how.isOver(work); everyMs = Math.min(LOOK_LONGEST_MS, everyMs * 1.5)) {
    how.onLook?.(work);
    await sleep(everyMs, undefined, { signal });
    work = await how.look();
  }
  return work;
}
