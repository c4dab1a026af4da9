import { type ServedTimes, ProfiledCall } from './call-profile';
import type { Clock } from '../../base/time/clock';

/** The answer of a read that is noted, from the thread that gave it: what that measured comes along. */
export interface ProfiledAnswer<Answer> {
  answer: Answer;
  served: ServedTimes | null;
}

/** Asks another thread; what that measured is noted here. Rejects as `ask` does. */
export async function askProfiled<Answer>(
  ask: () => Promise<ProfiledAnswer<Answer>>,
  profiled: ProfiledCall,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Answer> {
  // Before it is asked: it may begin while the question is still being copied.
  const sentMs = clock.monotonicMs();
  const { answer, served } = await ask();
  // On its way to the other thread and back it waits, too.
  if (served !== null) profiled.served = { waitMs: sentMs - profiled.startMs + served.waitMs, runMs: served.runMs };
  return answer;
}

/** The side that is asked: does the read with a note of its own. Rejects as `read` does. */
export async function answerProfiled<Answer>(
  read: (profiled: ProfiledCall) => Promise<Answer>,
  about: { kind: string; shard: number; clock: Pick<Clock, 'monotonicMs'> },
): Promise<ProfiledAnswer<Answer>> {
  const profiled = new ProfiledCall({ ...about, query: null, startMs: about.clock.monotonicMs(), span: null });
  const answer = await read(profiled);
  profiled.end(null);
  return { answer, served: profiled.served };
}
