import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** What the hub does with a file instead of sending it. */
export type HubMischief = 'silent' | 'stalls' | 'drips' | 'floods' | 'cut' | 'forbidden' | 'broken' | 'altered';

/**
 * A hub on this machine: serves `<owner>/<name>/resolve/<revision>/<path>` from a folder of models, large files by a
 * redirect as the real one does, with its headers: the commit, and the digest of a file.
 */
export class ModelHub {
  /** Paths asked for, in order. */
  readonly asked: string[] = [];
  /** And by which revision. */
  readonly revisions: string[] = [];
  /** The commit that every branch is at; null: it says none, nor digests, as a plain mirror. */
  commit: string | null = '0123456789abcdef0123456789abcdef01234567';
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
    const [, isStored, model, revision, path] = /^\/(stored\/)?([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url) ?? [];
    if (model === undefined) return void response.writeHead(404).end();
    if (isStored === undefined) {
      this.asked.push(path);
      this.revisions.push(revision);
    }
    const file = join(this.folder, model, path);
    const mischief = this.mischief.get(path);
    if (mischief === 'silent') return;
    if (mischief === 'forbidden') return void response.writeHead(401).end();
    if (mischief === 'broken') return void response.writeHead(503).end();
    if (mischief === 'drips') {
      const drops = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(drops));
      return;
    }
    if (mischief === 'floods') {
      const pour = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
      };
      response.on('drain', pour);
      return pour();
    }
    if (!existsSync(file)) return void response.writeHead(404).end('Entry not found');
    const content = readFileSync(file);
    const isLarge = path.startsWith('onnx/');
    if (this.commit !== null) response.setHeader('x-repo-commit', this.commit);
    if (this.commit !== null && isLarge)
      response.setHeader('x-linked-etag', `"${createHash('sha256').update(content).digest('hex')}"`);
    if (this.commit !== null && !isLarge)
      response.setHeader(
        'etag',
        `"${createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')}"`,
      );
    if (isLarge && isStored === undefined) return void response.writeHead(302, { location: `/stored${url}` }).end();
    response.writeHead(200, { 'content-length': content.length });
    if (mischief === 'altered') return void response.end(Buffer.from(content).fill(32, 0, 1));
    if (mischief === undefined) return void response.end(content);
    response.write(content.subarray(0, content.length / 2), () => {
      if (mischief === 'cut') response.destroy();
    });
  }
}
