import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requestHead } from './http-connection.mjs';
import { loadFigures, percentile, WARM_UP_MAX_MS } from './load-generator.mjs';

const SOURCE = fileURLToPath(new URL('./load-client.cc', import.meta.url));

/**
 * Load from a program that pauses for nothing (`load-client.cc`), for figures of the slowest requests: a client in
 * JavaScript has collections of garbage of its own. Linux only; built when it is made, removed by `close`.
 */
export class NativeLoad {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'quiver-bench-load-'));
    this.program = join(this.folder, 'load-client');
    const { status, stderr, error } = spawnSync('g++', ['-std=c++17', '-O2', SOURCE, '-o', this.program], {
      encoding: 'utf8',
    });
    if (error !== undefined || status !== 0) {
      this.close();
      throw new Error(`the load's program can't be built: ${error?.message ?? stderr}`);
    }
  }

  close() {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * As `generateLoad`; with `perSecond` the load is open: so many requests become due each second, at random or, if
   * `isEven`, in equal steps, whatever is answered meanwhile. One that is due when no connection is free waits for one,
   * and its latency counts from when it was due. `lateP99Ms` is then how late they were sent; null in a closed loop.
   * @param {{ address: { host: string, port: number }, requests: any[], connections: number, seconds: number,
   * perSecond?: number, isEven?: boolean, seed?: number }} options
   */
  async generate({ address, requests, connections, seconds, perSecond = 0, isEven = false, seed = 1 }) {
    const [prepared, out] = [join(this.folder, 'requests'), join(this.folder, 'out')];
    writeFileSync(prepared, Buffer.concat(requests.flatMap((request) => lengthAndBytes(request, address))));
    const words = [
      address.host,
      address.port,
      prepared,
      connections,
      perSecond,
      isEven ? 'even' : 'random',
      seconds,
      Math.min(WARM_UP_MAX_MS / 1000, seconds),
      seed,
      out,
    ];
    const answered = Number(await run(this.program, words));
    const bytes = readFileSync(out);
    const pairs = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / Float32Array.BYTES_PER_ELEMENT);
    const latencies = pairs.filter((_, i) => i % 2 === 0);
    const late = pairs.filter((_, i) => i % 2 === 1);
    return {
      ...loadFigures({ connections, requests: answered, latencies, seconds }),
      lateP99Ms: perSecond === 0 ? null : percentile(late, 0.99),
    };
  }
}

function lengthAndBytes({ method, path, headers, body }, address) {
  const request = Buffer.concat([
    requestHead({ method, path, headers, ...address, bodyBytes: Buffer.byteLength(body) }),
    Buffer.from(body),
  ]);
  return [Buffer.from(Uint32Array.of(request.length).buffer), request];
}

/** What a program writes. Errors: what it says when it fails. */
function run(program, words) {
  return new Promise((done, fail) => {
    const child = spawn(program, words.map(String), { stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, errors] = ['', ''];
    child.stdout.on('data', (text) => (output += text));
    child.stderr.on('data', (text) => (errors += text));
    child.once('error', fail);
    child.once('close', (code) =>
      code === 0 ? done(output) : fail(new Error(`the load ended with ${code}: ${errors}`)),
    );
  });
}
