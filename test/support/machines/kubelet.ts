import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpProbe, PodLife } from '../chart/pod-life';
import type { MemberProcess } from '../processes/member-process';

/** What Services and proxies may take until none sends a pod any more that was told to end. */
const SERVICES_FORGET_MS = 2_000;

/** How a pod ended. */
export interface PodEnd {
  id: string;
  exitCode: number | null;
  /** The grace period was over first. */
  wasKilled: boolean;
}

/** Keeps one member as a kubelet keeps a pod of one container: probes it, tells when it may have traffic, ends it. */
export class Pod {
  /** Whether Services send it requests: by its readiness, and for a while after it was told to end. */
  hasTraffic = false;
  /** Why a kubelet would have started the container again. */
  readonly complaints: string[] = [];
  private probing = new AbortController();
  private watches: Promise<void>[] = [];

  constructor(
    readonly member: MemberProcess,
    private readonly life: PodLife,
  ) {}

  /** Starts it, if it does not run, and resolves when it is ready. Errors: the startup probe fails too often. */
  async start(): Promise<void> {
    if (!this.member.isRunning) this.member.spawn();
    this.probing = new AbortController();
    await this.startUp();
    await new Promise<void>((ready) => {
      const { liveness, readiness } = this.life;
      this.watches = [
        this.watch(readiness, (passes) => {
          this.hasTraffic = passes;
          if (passes) ready();
        }),
        this.watch(liveness, (passes) => {
          if (!passes) this.complaints.push(`${this.member.id} is not alive`);
        }),
      ];
    });
  }

  /** Tells it to end and resolves when it has: hook and SIGTERM, and SIGKILL when the grace period is over. */
  async end(): Promise<PodEnd> {
    await this.leave();
    let wasKilled = false;
    const grace = setTimeout(() => {
      wasKilled = true;
      void this.member.kill();
    }, this.life.gracePeriodMs);
    const forget = setTimeout(() => (this.hasTraffic = false), SERVICES_FORGET_MS);
    await sleep(this.life.preStopSleepMs);
    const exitCode = await this.member.stop();
    clearTimeout(grace);
    clearTimeout(forget);
    this.hasTraffic = false;
    return { id: this.member.id, exitCode, wasKilled };
  }

  /** Probes it no more. */
  async leave(): Promise<void> {
    this.probing.abort();
    await Promise.all(this.watches);
  }

  private async startUp(): Promise<void> {
    const { startup } = this.life;
    await sleep(startup.initialDelayMs);
    for (let failures = 0; !(await this.passes(startup)); await sleep(startup.periodMs)) {
      failures += 1;
      if (failures === startup.failureThreshold)
        throw new Error(`${this.member.id} did not start in time: ${this.member.output}`);
    }
  }

  private async watch(probe: HttpProbe, tell: (passes: boolean) => void): Promise<void> {
    const { signal } = this.probing;
    const pause = (milliseconds: number): Promise<void> =>
      sleep(milliseconds, undefined, { signal }).catch(() => undefined);
    await pause(probe.initialDelayMs);
    for (let failures = 0; !signal.aborted; await pause(probe.periodMs)) {
      failures = (await this.passes(probe)) ? 0 : failures + 1;
      if (!signal.aborted && (failures === 0 || failures >= probe.failureThreshold)) tell(failures === 0);
    }
  }

  private passes({ path, port, timeoutMs }: HttpProbe): Promise<boolean> {
    if (port !== 'metrics') throw new Error(`no operations port: ${port}`);
    return fetch(`http://127.0.0.1:${this.member.opsPort}${path}`, { signal: AbortSignal.timeout(timeoutMs) }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status >= 200 && answer.status < 400;
      },
      () => false,
    );
  }
}
