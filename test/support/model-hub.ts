import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** What the hub does with a file instead of sending it. */
export type HubMischief = 'silent' | 'stalls' | 'cut' | 'forbidden' | 'broken';

/** A hub on this machine: serves `<owner>/<name>/resolve/main/<path>` from a folder of models, large files by a redirect as the real one does. */
export class ModelHub {
  /** Paths asked for, in order. */
  readonly asked: string[] = [];
  private readonly mischief = new Map<string, HubMischief>();
  private readonly server: Server;

  private constructor(private readonly folder: string) {
    this.server = createServer((request, response) => this.answer(request.url ?? '', response));
  }

  static async start(folder: string): Promise<ModelHub> {
    const hub = new ModelHub(folder);
    await new Promise<void>((done) => hub.server.listen(0, '127.0.0.1', done));
    return hub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** From now on; null: behaves again. */
  misbehave(path: string, mischief: HubMischief | null): void {
    if (mischief === null) this.mischief.delete(path);
    else this.mischief.set(path, mischief);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private answer(url: string, response: ServerResponse): void {
    const [, isStored, model, path] = /^\/(stored\/)?([^/]+\/[^/]+)\/resolve\/main\/(.+)$/.exec(url) ?? [];
    if (model === undefined) return void response.writeHead(404).end();
    if (isStored === undefined) this.asked.push(path);
    const file = join(this.folder, model, path);
    const mischief = this.mischief.get(path);
    if (mischief === 'silent') return;
    if (mischief === 'forbidden') return void response.writeHead(401).end();
    if (mischief === 'broken') return void response.writeHead(503).end();
    if (!existsSync(file)) return void response.writeHead(404).end('Entry not found');
    if (path.startsWith('onnx/') && isStored === undefined) return void response.writeHead(302, { location: `/stored${url}` }).end();
    const content = readFileSync(file);
    response.writeHead(200, { 'content-length': content.length });
    if (mischief === undefined) return void response.end(content);
    response.write(content.subarray(0, content.length / 2), () => {
      if (mischief === 'cut') response.destroy();
    });
  }
}
