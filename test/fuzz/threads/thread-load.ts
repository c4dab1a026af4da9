import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { Agent, request } from 'node:https';
import { seededRandom } from '../../support/values/random';
import { below } from '../fuzz-target';

/**
 * The collection that is written to, with vectors long enough that bodies are read, and writes made, on threads of the
 * pool.
 */
export const LOADED = { name: 'loaded', dim: 96 };
const IDS = 4_000;
/** A body beyond 64 KiB is scanned aside. */
const BULK_ITEMS = 400;
const CALL_MS = 10_000;
const PAUSE_MS = 20;

export interface ThreadService {
  port: number;
  key: string;
  /** Of the authority that its certificate is by. */
  ca: string;
}

/**
 * Clients whose requests of all kinds are under way whenever a thread ends. What becomes of a request is nobody's
 * concern.
 */
export class ThreadLoad {
  private readonly agent: Agent;
  private readonly sessions: (ClientHttp2Session | null)[] = [];
  private running: Promise<void>[] = [];
  private isOver = false;
  /** Requests that were answered. */
  answered = 0;

  constructor(private readonly service: ThreadService) {
    this.agent = new Agent({ ca: service.ca, keepAlive: true });
  }

  start(seed: number, clients: number): void {
    const random = seededRandom(seed);
    this.running = Array.from({ length: clients }, (_, i) =>
      this.client(i, seededRandom(Math.floor(random() * 2 ** 31))),
    );
  }

  async stop(): Promise<void> {
    this.isOver = true;
    this.agent.destroy();
    for (const session of this.sessions) session?.destroy();
    await Promise.all(this.running);
  }

  private async client(place: number, random: () => number): Promise<void> {
    while (!this.isOver) {
      const { method, path, body } = requestOf(random);
      const isCutOff = random() < 0.15;
      // HTTP/2, with several requests on one connection, for half of the clients.
      const call =
        place % 2 === 0
          ? this.byHttp1(method, path, body, isCutOff)
          : this.byHttp2(place, method, path, body, isCutOff);
      const isAnswered = await call.catch(() => false);
      if (isAnswered) this.answered += 1;
      else await new Promise((wake) => setTimeout(wake, PAUSE_MS));
    }
  }

  private byHttp1(method: string, path: string, body: string | null, isCutOff: boolean): Promise<boolean> {
    const { port, key } = this.service;
    return new Promise((done) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port,
          method,
          path,
          agent: this.agent,
          headers: headersOf(key, body),
          signal: AbortSignal.timeout(CALL_MS),
        },
        (incoming) => {
          incoming.on('error', () => done(false));
          incoming.on('close', () => done(incoming.complete));
          if (isCutOff) incoming.destroy();
          else incoming.resume();
        },
      );
      outgoing.on('error', () => done(false));
      if (body === null || !isCutOff) return outgoing.end(body ?? undefined);
      outgoing.write(body.slice(0, body.length / 2));
      setTimeout(() => outgoing.destroy(), PAUSE_MS);
    });
  }

  private byHttp2(
    place: number,
    method: string,
    path: string,
    body: string | null,
    isCutOff: boolean,
  ): Promise<boolean> {
    const { key } = this.service;
    return new Promise((done) => {
      const stream = this.session(place).request(
        { ':method': method, ':path': path, ...headersOf(key, body) },
        { endStream: body === null, signal: AbortSignal.timeout(CALL_MS) },
      );
      stream.on('error', () => done(false));
      stream.on('close', () => done(stream.rstCode === 0));
      if (body !== null) stream.end(body);
      if (isCutOff) setTimeout(() => stream.close(8), PAUSE_MS);
      else stream.resume();
    });
  }

  /** Three clients share one. */
  private session(client: number): ClientHttp2Session {
    const place = Math.floor(client / 6);
    const known = this.sessions[place] ?? null;
    if (known !== null && !known.closed && !known.destroyed) return known;
    const { port, ca } = this.service;
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca });
    session.on('error', () => undefined);
    session.on('goaway', () => session.close());
    return (this.sessions[place] = session);
  }
}

function headersOf(key: string, body: string | null): Record<string, string> {
  return {
    'x-api-key': key,
    ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
  };
}

function requestOf(random: () => number): { method: string; path: string; body: string | null } {
  const path = `/v1/collections/${LOADED.name}`;
  const id = (): string => `i${below(random, IDS)}`;
  const draw = random();
  const post = (verb: string, body: unknown) => ({
    method: 'POST',
    path: `${path}/${verb}`,
    body: JSON.stringify(body),
  });
  if (draw < 0.25)
    return post('bulk_upsert', { items: Array.from({ length: BULK_ITEMS }, () => itemOf(id(), random, false)) });
  if (draw < 0.35)
    return post('bulk_upsert', { items: Array.from({ length: BULK_ITEMS / 4 }, () => itemOf(id(), random, true)) });
  if (draw < 0.5)
    return post('search', {
      vector: vectorOf(random),
      k: 1 + below(random, 200),
      ...(random() < 0.5 && { filters: { group: below(random, 8) } }),
    });
  if (draw < 0.58)
    return post('bulk_search', { queries: Array.from({ length: 40 }, () => ({ vector: vectorOf(random), k: 10 })) });
  if (draw < 0.64) return post('hybrid_search', { query_text: 'words of an item', vector: vectorOf(random), k: 20 });
  if (draw < 0.72) return post('scroll', { limit: 500 });
  if (draw < 0.78) return { method: 'GET', path: `${path}/export?limit=2000`, body: null };
  if (draw < 0.88) return { method: 'GET', path: `${path}/vectors/${id()}`, body: null };
  if (draw < 0.93) return post('delete_batch', { external_ids: Array.from({ length: 20 }, id) });
  return post('update_by_filter', { filters: { group: below(random, 8) }, set: { seen: below(random, 100) } });
}

function itemOf(externalId: string, random: () => number, hasText: boolean): unknown {
  return {
    external_id: externalId,
    vector: vectorOf(random),
    metadata: { group: below(random, 8), note: 'x'.repeat(below(random, 60)) },
    ...(hasText && { text: `words of an item ${below(random, 1000)}` }),
  };
}

function vectorOf(random: () => number): number[] {
  return Array.from({ length: LOADED.dim }, () => Math.fround(random() * 2 - 1));
}
