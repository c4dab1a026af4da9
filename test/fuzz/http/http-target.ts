import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedProcess } from '../../support/processes/embedded-process';
import { smallerBytes } from '../byte-mutation';
import { Canary } from '../canary';
import { type FuzzTarget, TARGET_NAMES } from '../fuzz-target';
import { faultsOfProbe, faultsOfProcess } from '../process-oracle';
import { furnishFuzzed } from './fuzzed-collection';
import { type HttpCase, runHttpCase } from './http-case';
import { endpointsOf, RawCases, RequestCases } from './request-cases';
import { UploadCases } from './upload-cases';

type HttpTargetName = Extract<(typeof TARGET_NAMES)[number], 'bodies' | 'uploads' | 'http'>;

const ROOT = join(__dirname, '..', '..', '..');
const CORPUS = join(__dirname, '..', 'corpus');

/** An embedded process, reached over bare connections. */
export class HttpTarget implements FuzzTarget<HttpCase> {
  readonly casesPerCheck = 25;
  private server: EmbeddedProcess | null = null;
  private cases: { generate(random: () => number): HttpCase } | null = null;

  constructor(
    readonly name: HttpTargetName,
    private readonly environment: Record<string, string> = {},
  ) {}

  async start(): Promise<void> {
    const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2', ...this.environment } });
    this.server = server;
    await server.start();
    await Canary.store((method, path, body) => server.call(method, path, body));
    await furnishFuzzed((method, path, body) => server.data(method, path, body));
    this.cases = await this.casesFor(server);
  }

  generate(random: () => number): HttpCase {
    if (this.cases === null) throw new Error('not started');
    return this.cases.generate(random);
  }

  run(given: HttpCase): Promise<string[]> {
    const { port, apiKey, dataDir } = this.running;
    return runHttpCase(port, given, [apiKey, dataDir, ROOT]);
  }

  async check(): Promise<string[]> {
    const server = this.running;
    const faults = [
      ...faultsOfProcess({ name: 'embedded', pid: server.pid, output: server.output }),
      ...(await faultsOfProbe('embedded', server.opsPort)),
    ];
    if (faults.some((fault) => fault.startsWith('death'))) return faults;
    const { wrong, refused } = await Canary.look((method, path, body) => server.call(method, path, body)).catch(
      (error: Error) => ({ wrong: [`canary: ${error.message}`], refused: [] }),
    );
    faults.push(...wrong, ...refused.map((what) => `canary: refused, ${what}`));
    if (faults.length === 0) await furnishFuzzed((method, path, body) => server.data(method, path, body));
    return faults;
  }

  /** Fewer pieces, then fewer bytes. The number of requests in them is then nobody's to say. */
  shrink(given: HttpCase): HttpCase[] {
    const whole = Buffer.concat(given.pieces.map((piece) => Buffer.from(piece, 'base64')));
    const joined = given.pieces.length > 1 ? [{ ...given, pieces: [whole.toString('base64')] }] : [];
    // A request that is answered no more would look like a finding once its length is wrong.
    if (given.requests !== null && given.requests > 1) return joined;
    return [
      ...joined,
      ...smallerBytes(whole).map((bytes) => ({ ...given, requests: null, pieces: [bytes.toString('base64')] })),
    ];
  }

  async stop(): Promise<void> {
    await this.server?.destroy();
    this.server = null;
  }

  private get running(): EmbeddedProcess {
    if (this.server === null) throw new Error('not started');
    return this.server;
  }

  private async casesFor(server: EmbeddedProcess): Promise<{ generate(random: () => number): HttpCase }> {
    if (this.name === 'uploads') return new UploadCases({ key: server.apiKey });
    if (this.name === 'http')
      return new RawCases({
        seeds: readdirSync(join(CORPUS, 'http'))
          .sort()
          .map((file) => withKey(readFileSync(join(CORPUS, 'http', file)), server.apiKey)),
      });
    const document = await fetch(`${server.baseUrl}/openapi.json`).then((answer) => answer.json());
    const corpus = JSON.parse(readFileSync(join(CORPUS, 'bodies.json'), 'utf8'));
    return new RequestCases({ endpoints: endpointsOf(document), key: server.apiKey, corpus });
  }
}

/** Files of the corpus have line ends of their own and a word in place of the key. */
function withKey(file: Buffer, key: string): Buffer {
  return Buffer.from(file.toString('latin1').replaceAll('THE-KEY', key), 'latin1');
}
