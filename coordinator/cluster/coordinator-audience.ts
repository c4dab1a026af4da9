import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { Clock } from '../../shared/base/time/clock';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import {
  COORDINATORS_PREFIX,
  type CoordinatorMember,
  memberFromEntry,
} from '../../shared/cluster-store/entries/members';
import type { AliasAudience, HeardAlias } from '../service/aliases/stored-aliases';
import { readableEntries } from '../service/readable-entries';
import type { PeerAliases } from './calls/peer-aliases';

/** One that takes longer is asked again, unless it is no member any more by then. */
const ASKED_FOR_MS = 500;
/** Before one that could not be asked is looked at again. */
const PAUSE_MS = 50;

/**
 * The other coordinators of a cluster. One knows aliases when it says so, or is no member any more: then it is not
 * certain of them either (AliasMembership).
 */
export class CoordinatorAudience implements AliasAudience {
  constructor(
    private readonly parts: {
      store: Pick<ClusterStore, 'list' | 'get'>;
      ownId: string;
      /** Those that this process knows, this one among them. */
      members: () => CoordinatorMember[];
      peers: Pick<PeerAliases, 'know' | 'ask'>;
      clock: Pick<Clock, 'monotonicMs'>;
      timeoutMs: number;
    },
  ) {}

  async know(revision: number): Promise<void> {
    const { store, ownId, clock, timeoutMs } = this.parts;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    // Whoever joins later reads the aliases after that.
    const { entries } = await untilStoreAnswers(() => store.list(COORDINATORS_PREFIX), clock, deadlineMs);
    const others = readableEntries(entries, (entry) => memberFromEntry<CoordinatorMember>(entry)).filter(
      ({ id }) => id !== ownId,
    );
    await Promise.all(others.map((other) => this.oneKnows(other, revision, deadlineMs)));
  }

  ask(name: string): Promise<(HeardAlias | null)[]> {
    const { members, ownId, peers } = this.parts;
    const others = members().filter(({ id }) => id !== ownId);
    return Promise.all(others.map(({ peerAddress }) => peers.ask(peerAddress, name, ASKED_FOR_MS)));
  }

  private async oneKnows(
    { id, instance, peerAddress }: CoordinatorMember,
    revision: number,
    deadlineMs: number,
  ): Promise<void> {
    const { store, peers, clock } = this.parts;
    while (clock.monotonicMs() < deadlineMs) {
      if (await peers.know(peerAddress, revision, ASKED_FOR_MS)) return;
      const entry = await untilStoreAnswers(() => store.get(COORDINATORS_PREFIX + id), clock, deadlineMs);
      if (entry === null || memberFromEntry<CoordinatorMember>(entry).instance !== instance) return;
      await sleep(PAUSE_MS);
    }
    throw notKnown(`coordinator ${id} does not answer`);
  }
}

/** Errors: unavailable. */
async function untilStoreAnswers<Answer>(
  ask: () => Promise<Answer>,
  clock: Pick<Clock, 'monotonicMs'>,
  deadlineMs: number,
): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'unavailable') throw error;
      if (clock.monotonicMs() >= deadlineMs) throw notKnown('the cluster store is away', error);
      await sleep(PAUSE_MS);
    }
  }
}

function notKnown(why: string, cause?: unknown): QuiverError {
  return new QuiverError(
    'unavailable',
    `${why}, so it is not certain that all coordinators know the last change of aliases: until they do, requests ` +
      'through them may find what was before; the call may be retried',
    { cause },
  );
}
