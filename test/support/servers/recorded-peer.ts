import { readFileSync } from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

interface Exchange {
  method: string;
  path: string;
  /** What must come, as JSON; absent: anything. */
  body?: unknown;
  /** The same, to the letter. */
  rawBody?: string;
  status?: number;
  /** Answered as JSON, or to the letter. */
  answer?: unknown;
  text?: string;
}

/**
 * A peer that answers by a list of exchanges (test/fixtures/migrate, where each says where its answers are from). A
 * request that is not in the list is answered with 404 and kept in `strange`.
 */
export class RecordedPeer {
  readonly strange: string[] = [];
  private readonly exchanges: Exchange[];
  private readonly server: Server;

  constructor(name: string) {
    const file = JSON.parse(readFileSync(resolve(__dirname, `../../fixtures/migrate/${name}.json`), 'utf8')) as {
      source: string;
      exchanges: Exchange[];
    };
    this.exchanges = file.exchanges;
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  /** Answers the address. */
  async start(): Promise<string> {
    await new Promise<void>((listening) => this.server.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const isIt = (one: Exchange): boolean =>
      one.method === request.method &&
      one.path === request.url &&
      (one.rawBody === undefined || one.rawBody === body) &&
      (one.body === undefined || (body !== '' && isDeepStrictEqual(JSON.parse(body), one.body)));
    // To the letter first: as JSON, two numbers beyond 2^53 may look alike.
    const found = this.exchanges
      .filter(isIt)
      .sort((a, b) => Number(b.rawBody !== undefined) - Number(a.rawBody !== undefined))[0];
    if (found === undefined) this.strange.push(`${request.method} ${request.url} ${body}`);
    response.writeHead(found === undefined ? 404 : (found.status ?? 200), { 'content-type': 'application/json' });
    response.end(found === undefined ? '{}' : (found.text ?? JSON.stringify(found.answer)));
  }
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
