import { deepStrictEqual } from 'node:assert';
import type { ReplicaEffect } from '../../node/replication/core/effects';
import type { ReplicaEvent } from '../../node/replication/core/events';
import { ShardReplica, type ShardReplicaOptions } from '../../node/replication/core/shard-replica';
import { anatomyOf } from './anatomy';
import { simulate } from './replication-simulation';

/**
 * Steps of a quiet replica are short: what is said again and again moves times, and nothing else is looked at. Beside
 * each replica of the simulation runs one that takes every step in full, and must do and become the same.
 */

const FROM = Number(process.env.SEED ?? 1);
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 15);

/** A seed from which on one that forgets nothing is caught, and how many it may survive. */
const FORGETFUL_FROM = 1;
const FORGETFUL_SEEDS = 20;

/** What a replica remembers only to make steps short. */
const SHORTCUTS = new Set(['rest', 'again']);

let short = { heartbeats: 0, answers: 0, ticks: 0 };

/** The organs that remember it. */
interface Shortcuts {
  primary: { rest: object | null } | null;
  follower: { again: object | null };
}

class ComparedReplica extends ShardReplica {
  private readonly full: ShardReplica;

  constructor(options: ShardReplicaOptions, forgets = true) {
    super(options);
    this.full = new ShardReplica(options);
    if (!forgets) anatomyOf(this).follower.forget = () => {};
  }

  override step(event: ReplicaEvent, nowMs: number): readonly ReplicaEffect[] {
    const { primary, follower } = this as unknown as Shortcuts;
    const before = { rest: primary?.rest, again: follower.again };
    const effects = super.step(event, nowMs);
    forget(this.full);
    deepStrictEqual(effects, this.full.step(event, nowMs));
    forget(this.full);
    deepStrictEqual(
      [this.nextTickAt(), this.readableUntil, this.readPosition],
      [this.full.nextTickAt(), this.full.readableUntil, this.full.readPosition],
    );
    const isShort =
      (primary?.rest ?? null) !== null
        ? primary!.rest === before.rest
        : (follower.again ?? null) !== null && follower.again === before.again;
    if (!isShort) return effects;
    if (event.type === 'tick') short.ticks++;
    else if (event.type === 'append') short.heartbeats++;
    else short.answers++;
    deepStrictEqual(pictureOf(this), pictureOf(this.full));
    return effects;
  }
}

function forget(replica: ShardReplica): void {
  const { primary, follower } = replica as unknown as Shortcuts;
  if (primary !== null) primary.rest = null;
  follower.again = null;
}

/** All that it is made of, but functions. */
function pictureOf(part: unknown, inside: readonly unknown[] = []): unknown {
  if (typeof part === 'function') return null;
  if (typeof part !== 'object' || part === null || Buffer.isBuffer(part) || inside.includes(part))
    return part instanceof Object && inside.includes(part) ? 'above' : part;
  const path = [...inside, part];
  if (part instanceof Map) return [...part].map(([key, value]) => [key, pictureOf(value, path)]);
  if (Array.isArray(part)) return part.map((one) => pictureOf(one, path));
  return Object.fromEntries(
    Object.entries(part).flatMap(([key, value]) =>
      SHORTCUTS.has(key) || value instanceof ShardReplica ? [] : [[key, pictureOf(value, path)]],
    ),
  );
}

console.log(`steps at rest: SEED=${FROM}`);

test.each([1, 2])(
  'what a quiet replica is told again and again changes it as any other step would, with at least %i in sync',
  (minInSync) => {
    short = { heartbeats: 0, answers: 0, ticks: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed++) {
      const compared = simulate({ seed, minInSync, makeReplica: (options) => new ComparedReplica(options) });
      expect(compared).toEqual(simulate({ seed, minInSync }));
    }
    expect(Math.min(...Object.values(short))).toBeGreaterThan(SEEDS);
  },
);

test('M51: a quiet follower that takes short steps though something happened is caught by the comparison', () => {
  const caught = Array.from({ length: FORGETFUL_SEEDS }, (_, i) => FORGETFUL_FROM + i).some((seed) => {
    try {
      simulate({ seed, minInSync: 2, makeReplica: (options) => new ComparedReplica(options, false) });
      return false;
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_ASSERTION') throw error;
      return true;
    }
  });
  expect(caught).toBe(true);
});
