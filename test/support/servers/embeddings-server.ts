import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a call asked for. */
export interface AskedEmbeddings {
  path: string;
  key: string | undefined;
  model: string;
  input: string[];
  encoding: string | undefined;
}

/** What to answer in the place of the vectors; undefined: the vectors. */
export type Misbehaviour =
  | { status: number; headers?: Record<string, string>; body?: string }
  /** In the place of `data`. */
  | { data: unknown[] }
  | { how: 'hang' | 'cut' | 'flood' }
  | undefined;

/**
 * A server of the OpenAI protocol for embeddings: whatever makes its vectors, it answers them as the big ones do, and
 * misbehaves as a test wants.
 */
export class EmbeddingsServer {
  readonly asked: AskedEmbeddings[] = [];
  /** For each call, by its number. */
  misbehave: (call: number, asked: AskedEmbeddings) => Misbehaviour = () => undefined;
  /** Awaited before each answer. */
  before: () => Promise<void> = async () => undefined;
  /** Calls that it has begun with and not answered, at most. */
  atOnceMax = 0;
  private atOnce = 0;

  private constructor(
    private readonly server: Server,
    private readonly embed: (texts: string[], model: string) => number[][] | Promise<number[][]>,
  ) {}

  /** `embed`: default: {@link letterVectors}. */
  static async start(embed: EmbeddingsServer['embed'] = letterVectors): Promise<EmbeddingsServer> {
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const {
          model,
          input,
          encoding_format: encoding,
        } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as {
          model: string;
          input: string[];
          encoding_format?: string;
        };
        const key = request.headers.authorization;
        void started.answer({ path: request.url ?? '', key, model, input, encoding }, response);
      });
    });
    const started = new EmbeddingsServer(server, embed);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** Texts of all calls. */
  get texts(): string[] {
    return this.asked.flatMap(({ input }) => input);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(asked: AskedEmbeddings, response: ServerResponse): Promise<void> {
    this.asked.push(asked);
    this.atOnce += 1;
    this.atOnceMax = Math.max(this.atOnceMax, this.atOnce);
    const misbehaviour = this.misbehave(this.asked.length, asked);
    await this.before();
    const vectors = await this.embed(asked.input, asked.model);
    this.atOnce -= 1;
    if (misbehaviour !== undefined && 'how' in misbehaviour) return misbehaved(misbehaviour.how, response);
    if (misbehaviour !== undefined && 'status' in misbehaviour) {
      response.writeHead(misbehaviour.status, { 'content-type': 'application/json', ...misbehaviour.headers });
      response.end(misbehaviour.body ?? '{}');
      return;
    }
    const data =
      misbehaviour?.data ??
      vectors.map((vector, index) => ({ object: 'embedding', index, embedding: coded(vector, asked.encoding) }));
    const tokens = asked.input.reduce((sum, text) => sum + text.split(/\s+/).length, 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        object: 'list',
        data,
        model: asked.model,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }),
    );
  }
}

/** A direction for each text, by its letters, of `dim` numbers. */
export function letterVectors(texts: string[], _model = '', dim = 8): number[][] {
  return texts.map((text) => {
    const sums = new Array<number>(dim).fill(0);
    for (const [i, character] of [...text].entries()) sums[(character.codePointAt(0)! + i) % dim] += 1;
    const length = Math.hypot(...sums) || 1;
    return sums.map((sum) => sum / length);
  });
}

function coded(vector: number[], encoding: string | undefined): string | number[] {
  return encoding === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
}

function misbehaved(how: 'hang' | 'cut' | 'flood', response: ServerResponse): void {
  if (how === 'hang') return;
  response.writeHead(200, { 'content-type': 'application/json' });
  if (how === 'cut') {
    response.write('{"object":"list","data":[{"index":0,"embedding":[0.5,');
    setImmediate(() => response.destroy());
    return;
  }
  const pour = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
  };
  response.on('drain', pour);
  pour();
}
