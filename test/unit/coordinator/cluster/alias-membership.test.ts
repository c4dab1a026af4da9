import { AliasMembership } from '../../../../coordinator/cluster/alias-membership';
import { SharedTenure } from '../../../../coordinator/service/aliases/alias-tenure';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { sharedMs } from '../../../../shared/base/time/shared-clock';
import type { StoreSession } from '../../../../shared/cluster-store/session-store';
import { eventually } from '../../../support/eventually';

const LONG_MS = 1_000_000;

class Session implements StoreSession {
  readonly isLost = false;
  keep: (untilMs: number) => void = () => undefined;

  constructor(
    readonly id: string,
    private readonly untilMs: number,
  ) {}

  onLost(): void {}

  onKept(listener: (untilMs: number) => void): void {
    this.keep = listener;
    listener(this.untilMs);
  }

  async close(): Promise<void> {}
}

/** A reading of the aliases that ends when a test says so. */
function scripted() {
  const tenure = new SharedTenure();
  const reads: { done: () => void; fail: (error: unknown) => void }[] = [];
  const read = (): Promise<void> => new Promise((done, fail) => void reads.push({ done, fail }));
  return { tenure, reads, membership: new AliasMembership({ tenure, read }) };
}

test('a coordinator is certain of aliases once it has read them after it was registered', async () => {
  const { tenure, reads, membership } = scripted();
  membership.begun(new Session('a', sharedMs() + LONG_MS));
  expect([tenure.isHeld(), reads.length]).toEqual([false, 1]);
  reads[0].fail(new QuiverError('unavailable', 'away'));
  await eventually('it reads again', () => reads.length === 2);
  expect(tenure.isHeld()).toBe(false);
  reads[1].done();
  await eventually('it is certain', () => tenure.isHeld());
  membership.close();
  expect(tenure.isHeld()).toBe(false);
});

test('it is so as long as its session is kept, and after each further registration reads anew', async () => {
  const { tenure, reads, membership } = scripted();
  const session = new Session('a', sharedMs() - 1);
  membership.begun(session);
  reads[0].done();
  await new Promise((turn) => setImmediate(turn));
  expect(tenure.isHeld()).toBe(false);
  session.keep(sharedMs() + LONG_MS);
  expect(tenure.isHeld()).toBe(true);
  // Put again under the same session.
  membership.begun(session);
  expect([tenure.isHeld(), reads.length]).toEqual([false, 2]);
  session.keep(sharedMs() + LONG_MS);
  expect(tenure.isHeld()).toBe(false);
  reads[1].done();
  await eventually('it is certain', () => tenure.isHeld());
  membership.ended();
  expect(tenure.isHeld()).toBe(false);
  session.keep(sharedMs() + LONG_MS);
  expect(tenure.isHeld()).toBe(false);
  const next = new Session('b', sharedMs() + LONG_MS);
  membership.begun(next);
  // What was begun for an earlier registration counts no more.
  session.keep(sharedMs() + LONG_MS);
  expect(tenure.isHeld()).toBe(false);
  reads[2].done();
  await eventually('it is certain again', () => tenure.isHeld());
  membership.close();
});
