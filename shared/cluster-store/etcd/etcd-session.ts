import assert from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { RetryBackoff } from '../../base/time/retry-backoff';
import { sharedMs } from '../../base/time/shared-clock';
import { EtcdCallError, isEtcdCallError } from './etcd-call-error';
import type { EtcdResponse } from './etcd-protocol';
import type { EtcdTransport } from './etcd-transport';
import type { StoreSession } from '../session-store';

/** etcd raises shorter times to live to this by itself. */
const TTL_MIN_SECONDS = 2;

/** A session as an etcd lease. Closing its transport stops the renewals, so the lease expires. */
export class EtcdSession implements StoreSession {
  private readonly listeners: (() => void)[] = [];
  private readonly keptListeners: ((untilMs: number) => void)[] = [];
  private readonly ending = new AbortController();
  private lost = false;

  private constructor(
    private readonly transport: EtcdTransport,
    readonly id: string,
    private readonly renewalMs: number,
    private keptUntilMs: number,
  ) {
    const abandon = (): void => this.ending.abort();
    transport.closed.addEventListener('abort', abandon);
    this.ending.signal.addEventListener('abort', () => transport.closed.removeEventListener('abort', abandon));
    if (transport.closed.aborted) abandon();
    void this.keepAlive();
  }

  /** Errors: EtcdCallError. */
  static async open(transport: EtcdTransport, { ttlSeconds }: { ttlSeconds: number }): Promise<EtcdSession> {
    assert(Number.isInteger(ttlSeconds) && ttlSeconds >= TTL_MIN_SECONDS, 'a session lives at least two seconds');
    // Repeatable: if the answer is lost, the lease that was granted expires with nothing bound to it.
    const askedMs = sharedMs();
    const granted = await transport.call('Lease.LeaseGrant', { TTL: ttlSeconds }, { repeatable: true });
    return new EtcdSession(transport, granted.ID, (ttlSeconds * 1000) / 3, askedMs + ttlSeconds * 1000);
  }

  get isLost(): boolean {
    return this.lost;
  }

  onLost(listener: () => void): void {
    if (this.lost) queueMicrotask(listener);
    else this.listeners.push(listener);
  }

  onKept(listener: (untilMs: number) => void): void {
    this.keptListeners.push(listener);
    listener(this.keptUntilMs);
  }

  async close(): Promise<void> {
    if (this.ending.signal.aborted) return;
    this.ending.abort();
    try {
      await this.transport.call('Lease.LeaseRevoke', { ID: this.id }, { repeatable: true });
    } catch (error) {
      if (!isEtcdCallError(error)) throw error;
    }
  }

  private async keepAlive(): Promise<void> {
    const { signal } = this.ending;
    const backoff = new RetryBackoff();
    await sleep(this.renewalMs, undefined, { signal }).catch(() => undefined);
    while (!signal.aborted) {
      try {
        if (!(await this.renew())) return this.lose();
        backoff.reset();
        await sleep(this.renewalMs, undefined, { signal }).catch(() => undefined);
      } catch (error) {
        if (!isEtcdCallError(error)) throw error;
        await backoff.pause(signal);
      }
    }
  }

  /**
   * One renewal, on a stream of its own so that it has its own deadline. Answers false when etcd says that the lease is
   * gone. Errors: EtcdCallError when no answer came.
   */
  private async renew(): Promise<boolean> {
    const deadlineMs = Date.now() + Math.min(this.renewalMs, this.transport.callTimeoutMs);
    // The lease lasts its time from when etcd got this, which is later.
    const askedMs = sharedMs();
    const stream = await this.transport.stream('Lease.LeaseKeepAlive', { deadlineMs });
    return new Promise((resolve, reject) => {
      const { signal } = this.ending;
      const cancel = (): void => void setImmediate(() => stream.cancel());
      signal.addEventListener('abort', cancel);
      stream.on('data', (response: EtcdResponse<'Lease.LeaseKeepAlive'>) => {
        const seconds = Number(response.TTL);
        if (seconds > 0) this.keep(askedMs + seconds * 1000);
        resolve(seconds > 0);
        stream.end();
      });
      stream.on('error', (error: { code: number; details: string }) => reject(EtcdCallError.fromStatus(error)));
      stream.on('end', () =>
        reject(new EtcdCallError('etcd ended the renewal without an answer', status.UNAVAILABLE, 'unknown')),
      );
      stream.on('status', () => signal.removeEventListener('abort', cancel));
      if (signal.aborted) return cancel();
      stream.write({ ID: this.id });
    });
  }

  private keep(untilMs: number): void {
    if (this.ending.signal.aborted) return;
    this.keptUntilMs = untilMs;
    for (const listener of this.keptListeners) listener(untilMs);
  }

  private lose(): void {
    if (this.ending.signal.aborted) return;
    this.lost = true;
    this.ending.abort();
    for (const listener of this.listeners.splice(0)) queueMicrotask(listener);
  }
}
