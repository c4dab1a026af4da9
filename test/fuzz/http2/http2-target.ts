import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SecuredProcess } from '../../support/processes/secured-process';
import { Canary } from '../canary';
import type { FuzzTarget } from '../fuzz-target';
import { furnishFuzzed } from '../http/fuzzed-collection';
import { endpointsOf, RequestCases } from '../http/request-cases';
import { faultsOfProbe, faultsOfProcess } from '../process-oracle';
import { type Http2Case, runHttp2Case } from './http2-case';
import { Http2Cases } from './http2-cases';

const ROOT = join(__dirname, '..', '..', '..');

/** An embedded process with TLS, reached by HTTP/2 over bare connections. */
export class Http2Target implements FuzzTarget<Http2Case> {
  readonly name = 'http2';
  readonly casesPerCheck = 25;
  private process: SecuredProcess | null = null;
  private cases: Http2Cases | null = null;

  constructor(private readonly environment: Record<string, string> = {}) {}

  async start(): Promise<void> {
    const started = new SecuredProcess({ environment: { HTTP_THREADS: '2', ...this.environment } });
    this.process = started;
    await started.start();
    await Canary.store((method, path, body) => started.call(method, path, body));
    await furnishFuzzed((method, path, body) => started.data(method, path, body));
    const document = await started.call('GET', '/openapi.json');
    const corpus = JSON.parse(readFileSync(join(__dirname, '..', 'corpus', 'bodies.json'), 'utf8'));
    const key = started.server.apiKey;
    this.cases = new Http2Cases({ requests: new RequestCases({ endpoints: endpointsOf(document), key, corpus }), key });
  }

  generate(random: () => number): Http2Case {
    if (this.cases === null) throw new Error('not started');
    return this.cases.generate(random);
  }

  run(given: Http2Case): Promise<string[]> {
    const { server, certificate } = this.running;
    return runHttp2Case({ port: server.port, ca: certificate.ca }, given, [server.apiKey, server.dataDir, ROOT]);
  }

  async check(): Promise<string[]> {
    const { server } = this.running;
    const faults = [
      ...faultsOfProcess({ name: 'embedded', pid: server.pid, output: server.output }),
      ...(await faultsOfProbe('embedded', server.opsPort)),
    ];
    if (faults.some((fault) => fault.startsWith('death'))) return faults;
    const { wrong, refused } = await Canary.look((method, path, body) => this.running.call(method, path, body)).catch(
      (error: Error) => ({ wrong: [`canary: ${error.message}`], refused: [] }),
    );
    faults.push(...wrong, ...refused.map((what) => `canary: refused, ${what}`));
    if (faults.length === 0) await furnishFuzzed((method, path, body) => this.running.data(method, path, body));
    return faults;
  }

  /** One write, then without one of the streams, then without one of the frames. The first has the preface. */
  shrink(given: Http2Case): Http2Case[] {
    const without = (
      isLeft: (frame: Http2Case['frames'][number], place: number) => boolean,
      due: number[],
    ): Http2Case => ({ ...given, frames: given.frames.filter(isLeft), cuts: [], due });
    const streams = [...new Set(given.frames.map(({ stream }) => stream))].filter((stream) => stream !== 0);
    const joined = given.cuts.length > 0 ? [{ ...given, cuts: [] }] : [];
    const fewer =
      streams.length > 1
        ? streams.map((one) =>
            without(
              ({ stream }) => stream !== one,
              given.due.filter((stream) => stream !== one),
            ),
          )
        : [];
    const smaller = given.frames.slice(1).map(({ stream: one }, i) =>
      without(
        (_frame, place) => place !== i + 1,
        given.due.filter((stream) => stream !== one),
      ),
    );
    return [...joined, ...fewer, ...smaller];
  }

  async stop(): Promise<void> {
    await this.process?.destroy();
    this.process = null;
    this.cases = null;
  }

  private get running(): SecuredProcess {
    if (this.process === null) throw new Error('not started');
    return this.process;
  }
}
