import { TIMINGS } from './timings';

/**
 * How often heartbeats go out: most often while something happens, less while nothing does, less still while nobody
 * reads either, and least when that has been so for long.
 */
export type HeartbeatPace = 'quick' | 'quiet' | 'unread' | 'dormant';

/** The paces of shards that nobody reads. */
export type SeldomPace = 'unread' | 'dormant';

/** The time between two heartbeats, in milliseconds. */
export const PAUSES: Record<HeartbeatPace, number> = {
  quick: TIMINGS.heartbeatMs,
  quiet: TIMINGS.quietHeartbeatMs,
  unread: TIMINGS.unreadHeartbeatMs,
  dormant: TIMINGS.dormantHeartbeatMs,
};

export function isSeldom(pace: HeartbeatPace): pace is SeldomPace {
  return pace === 'unread' || pace === 'dormant';
}

/**
 * The next moment at which all shards of this node with this pace have heartbeats. One grid for all of them: on a finer
 * one they would fall into groups that take turns, and each beat would have other members than the one before.
 */
export function sharedMoment(nowMs: number, pace: HeartbeatPace): number {
  const pauseMs = PAUSES[pace];
  return Math.floor((nowMs + pauseMs) / pauseMs) * pauseMs;
}
