import { type ServedTimes, ShardNote } from './call-profile';
import type { Clock } from '../../base/time/clock';

/** The answer of a read that is noted, from the thread that gave it: what that measured comes along. */
export interface NotedAnswer<Answer> {
  answer: Answer;
  served: ServedTimes | null;
}

/** Asks another thread; what that measured is noted here. Rejects as `ask` does. */
export async function askNoted<Answer>(
  ask: () => Promise<NotedAnswer<Answer>>,
  note: ShardNote,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Answer> {
  // Before it is asked: it may begin while the question is still being copied.
  const sentMs = clock.monotonicMs();
  const { answer, served } = await ask();
  // On its way to the other thread and back it waits, too.
  if (served !== null) note.served = { waitMs: sentMs - note.startMs + served.waitMs, runMs: served.runMs };
  return answer;
}

/** The side that is asked: does the read with a note of its own. Rejects as `read` does. */
export async function answerNoted<Answer>(
  read: (note: ShardNote) => Promise<Answer>,
  about: { kind: string; shard: number; clock: Pick<Clock, 'monotonicMs'> },
): Promise<NotedAnswer<Answer>> {
  const note = new ShardNote({ ...about, query: null, startMs: about.clock.monotonicMs(), span: null });
  const answer = await read(note);
  note.end(null);
  return { answer, served: note.served };
}
