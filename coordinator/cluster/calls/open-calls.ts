import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ProfiledCall } from '../../../shared/contract/shard/call-profile';
import { NumberTable } from '../../../shared/base/tables/number-table';
import type { Clock } from '../../../shared/base/time/clock';
import { deadlineTimer } from '../../../shared/base/time/deadline';

/** A call whose caller still waits. */
export interface OpenCall {
  readonly deadlineMs: number;
  /** Nobody waits for it any more, so further work is useless. */
  isOver: boolean;
  /** Called when the caller stops waiting. The work sets it for each of its steps. */
  cancel: () => void;
  /** What is noted of it; absent from nearly all. */
  profiled?: ProfiledCall | undefined;
}

/** The calls of a client that are under way: each ends with its answer, at its deadline or when the client closes. */
export class OpenCalls {
  private readonly endings = new NumberTable<() => void>();
  private readonly clock: Clock;
  private isClosed = false;

  constructor(parts: { clock: Clock }) {
    this.clock = parts.clock;
  }

  /**
   * Settles like `work`. When the deadline passes or the client closes, it rejects with `late()`; the work may go on,
   * but its result is ignored. If the deadline has passed already, the work does not start.
   */
  run<Result>(deadlineMs: number, work: (call: OpenCall) => Promise<Result>, late: () => QuiverError): Promise<Result> {
    const leftMs = deadlineMs - this.clock.monotonicMs();
    if (this.isClosed || leftMs <= 0) return Promise.reject(late());
    return new Promise<Result>((done, fail) => {
      const call: OpenCall = { deadlineMs, isOver: false, cancel: () => undefined };
      const close = (): void => {
        call.isOver = true;
        clearTimeout(timer);
        this.endings.remove(number);
      };
      const end = (): void => {
        close();
        call.cancel();
        fail(late());
      };
      const timer = deadlineTimer(leftMs, end);
      const number = this.endings.add(end);
      work(call).then(
        (result) => {
          close();
          done(result);
        },
        (error) => {
          close();
          fail(error);
        },
      );
    });
  }

  get count(): number {
    return this.endings.size;
  }

  close(): void {
    this.isClosed = true;
    for (const end of this.endings.removeAll()) end();
  }
}
