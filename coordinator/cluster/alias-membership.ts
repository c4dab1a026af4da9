import { RetryBackoff } from '../../shared/base/time/retry-backoff';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import type { EntryTenure } from '../../shared/cluster-store/entries/registered-entry';
import type { StoreSession } from '../../shared/cluster-store/session-store';
import type { SharedTenure } from '../service/aliases/alias-tenure';

/**
 * Since when and until when changes of aliases wait for this coordinator: from when it has read them after it was
 * registered, as long as the store keeps its session.
 */
export class AliasMembership implements EntryTenure {
  private session: StoreSession | null = null;
  /** Of the session, once the aliases were read. */
  private isCertain = false;
  private untilMs = 0;
  private reads = 0;
  private readonly closing = new AbortController();

  /** `read`: reads the aliases, later than the call. Errors: unavailable. */
  constructor(private readonly parts: { tenure: SharedTenure; read: () => Promise<void> }) {}

  begun(session: StoreSession): void {
    if (this.session !== session) {
      this.session = session;
      session.onKept((untilMs) => {
        if (this.session !== session) return;
        this.untilMs = untilMs;
        this.show();
      });
    }
    void this.readAliases(session);
  }

  ended(): void {
    this.isCertain = false;
    this.reads += 1;
    this.parts.tenure.end();
  }

  close(): void {
    this.closing.abort();
    this.session = null;
    this.ended();
  }

  private async readAliases(session: StoreSession): Promise<void> {
    this.ended();
    const { reads } = this;
    const backoff = new RetryBackoff();
    while (!this.closing.signal.aborted && this.reads === reads && this.session === session) {
      try {
        await this.parts.read();
        if (this.reads !== reads || this.session !== session) return;
        this.isCertain = true;
        this.show();
        return;
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        await backoff.pause(this.closing.signal);
      }
    }
  }

  private show(): void {
    if (this.isCertain) this.parts.tenure.extend(this.untilMs);
  }
}
