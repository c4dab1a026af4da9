import type { ClusterStore } from '../cluster-store';
import { QuiverError } from '../../base/errors/quiver-error';

/**
 * How long another process may hold a member's entry before this one gives up. A process that was killed holds it for
 * the rest of its session, 3.5 s; if etcd elects a leader meanwhile, every session starts again, and the entry stays
 * for some 8 s.
 */
const TAKEN_AFTER_MS = 15_000;
/** Between two looks whether the name is free: a start is not held up for noticeably longer than needed. */
const CHECK_EVERY_MS = 200;

/** What the entries of nodes and coordinators have in common. */
interface Registered {
  id: string;
  address: string;
  pid: number;
  startedAt: string;
}

/**
 * The name under which a member registers. Two processes must not use one name: their entries would replace each other,
 * and calls would go now to the one, now to the other.
 */
export class MemberName<Member extends Registered = Registered> {
  private takenSinceMs: number | null = null;

  /**
   * `isSame`: whether an entry is this process's, or that of an earlier life of it. Such an entry may be replaced at
   * once, any other one only when it is gone.
   */
  constructor(
    private readonly options: { store: Pick<ClusterStore, 'get'>; key: string; isSame: (entry: Member) => boolean },
  ) {}

  get key(): string {
    return this.options.key;
  }

  /** Resolves when no other process has the name. Errors: invalid_parameter when one keeps it, unavailable. */
  async free(stopSignal: AbortSignal): Promise<void> {
    for (;;) {
      const entry = await this.asked(this.options.store.get(this.key));
      if (entry === null || this.isOurs(entry.value)) return this.isFree();
      const refusal = this.isTaken(entry.value);
      if (refusal !== null) throw refusal;
      if (stopSignal.aborted) throw new QuiverError('unavailable', 'the process was asked to end');
      await new Promise((wake) => setTimeout(wake, CHECK_EVERY_MS));
    }
  }

  /** Whether the value is an entry that this process may replace: also one that can't be read. */
  isOurs(value: string): boolean {
    let entry: Member;
    try {
      entry = JSON.parse(value) as Member;
    } catch {
      return true;
    }
    return this.options.isSame(entry);
  }

  /**
   * Passes an answer of the store on. While the store is away, sessions don't end, so what was waited before does not
   * count.
   */
  async asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      this.isFree();
      throw error;
    }
  }

  /** Notes that no other process is known to have the name. */
  isFree(): void {
    this.takenSinceMs = null;
  }

  /**
   * Notes that another process has the name, with the value of its entry. Answers why to give up, once it had it for
   * long.
   */
  isTaken(value: string): QuiverError | null {
    const nowMs = performance.now();
    this.takenSinceMs ??= nowMs;
    if (nowMs - this.takenSinceMs < TAKEN_AFTER_MS) return null;
    const { id, address, pid, startedAt } = JSON.parse(value) as Member;
    return new QuiverError(
      'invalid_parameter',
      `NODE_ID ${id} is in use by another process, at ${address} (pid ${pid}, started ${startedAt}): each member needs a name of its own`,
    );
  }
}
