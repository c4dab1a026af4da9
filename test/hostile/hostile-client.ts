import { Agent, type IncomingMessage, request } from 'node:http';
import { Agent as SecuredAgent, request as requestSecured } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectSecured } from 'node:tls';
import { type Attack, type Door, type Http2Mode, isByHttp2, type Shot } from './attack';
import { streamsOn } from './http2-client';

/**
 * What became of the shots of one attack, by the envelope's code: 0 is success, -1 a broken connection, -2 an answer
 * that is still due.
 */
export type Tally = Record<number, number>;

export interface Address {
  host: string;
  port: number;
  apiKey: string;
  /** Of the authority of the API port's certificate, PEM; null without TLS. */
  ca: string | null;
  /** All ports of each kind. */
  doors: Record<Door, number[]>;
  /** From which address a stranger comes; null: the usual one. */
  from: string | null;
}

/** Bytes of an answer that are looked at: an error's envelope is no longer. */
const ENVELOPE_BYTES = 400;
const ERROR_CODE = /"status":"error".*?"code":(\d+)/s;
/** Shots that a pipelining client sends in one go. */
const PIPELINED = 200;
/** One byte of a slow body each: below every usual timeout, and thousands of connections could do it. */
const DRIP_EVERY_MS = 200;
/** How a client reads that keeps its answer for long: so many bytes, every so many milliseconds. */
const READING = { sip: { bytes: 1, everyMs: 500 }, pace: { bytes: 4096, everyMs: 1000 } } as const;
/** After a failed connection: a full backlog must not turn the attacker into a loop of its own. */
export const RECONNECT_MS = 20;

/** Attacks until the process ends. Counts into `tally`. */
export function attackWith(
  address: Address,
  attack: Pick<Attack, 'lanes' | 'mode'>,
  shots: Shot[],
  tally: Tally,
): void {
  for (let lane = 0; lane < attack.lanes; lane += 1) {
    if (attack.mode === 'shoot') void shootOn(address, shots, tally);
    else if (isByHttp2(attack.mode)) streamsOn(address, attack.mode, shots[lane % shots.length], tally);
    else holdOn(address, attack.mode as HoldMode, shots[lane % shots.length], tally);
  }
}

async function shootOn(address: Address, shots: Shot[], tally: Tally): Promise<never> {
  const options = { keepAlive: true, maxSockets: 1 };
  const agent = address.ca === null ? new Agent(options) : new SecuredAgent({ ...options, ca: address.ca });
  for (let i = 0; ; i += 1) {
    const shot = shoot(address, agent, shots[i % shots.length]);
    tally[-2] = (tally[-2] ?? 0) + 1;
    const code = await shot;
    tally[-2] -= 1;
    tally[code] = (tally[code] ?? 0) + 1;
    if (code < 0) await new Promise((wake) => setTimeout(wake, RECONNECT_MS));
  }
}

function shoot({ host, port, apiKey, ca }: Address, agent: Agent, shot: Shot): Promise<number> {
  return new Promise((done) => {
    const headers = {
      'x-api-key': apiKey,
      ...shot.headers,
      ...(shot.body === null ? {} : { 'content-length': shot.body.length }),
    };
    const sent = (ca === null ? request : requestSecured)({
      host,
      port,
      agent,
      method: shot.method,
      path: shot.path,
      headers,
    });
    sent.on('response', (answer: IncomingMessage) => {
      let start = '';
      answer.on('data', (piece: Buffer) => {
        if (start.length < ENVELOPE_BYTES) start += piece.toString('latin1', 0, ENVELOPE_BYTES);
      });
      answer.on('end', () => done(Number(ERROR_CODE.exec(start)?.[1] ?? 0)));
      answer.on('error', () => done(-1));
    });
    sent.on('error', () => done(-1));
    sent.end(shot.body ?? undefined);
  });
}

type HoldMode = Exclude<Attack['mode'], 'shoot' | Http2Mode | 'volley' | 'idle' | 'trickle'>;

/** A connection that is not used as intended; made again when the server ends it. */
function holdOn(address: Address, mode: HoldMode, shot: Shot, tally: Tally): void {
  // What is read at once is what the buffer takes; then nothing is, until it goes on.
  const onread =
    mode === 'sip' || mode === 'pace'
      ? { buffer: Buffer.alloc(READING[mode].bytes), callback: () => false }
      : undefined;
  const { host, port, ca } = address;
  const socket: Socket =
    ca === null ? connect({ port, host, onread }) : connectSecured({ port, host, ca, ALPNProtocols: ['http/1.1'] });
  const bytes = asBytes(shot, address.apiKey);
  let timer: NodeJS.Timeout | undefined;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(timer);
    tally[-1] = (tally[-1] ?? 0) + 1;
    setTimeout(() => holdOn(address, mode, shot, tally), RECONNECT_MS);
  });
  socket.on(ca === null ? 'connect' : 'secureConnect', () => {
    tally[0] = (tally[0] ?? 0) + 1;
    if (mode === 'pipeline') return pipelineOn(socket, bytes);
    if (mode === 'stall') socket.pause();
    if (mode === 'stall' || mode === 'sip' || mode === 'pace') {
      socket.write(bytes);
      if (mode === 'stall') return;
      const { bytes: most, everyMs } = READING[mode];
      // With TLS nothing but what lies ready is read, and that only as much as fits is decrypted.
      if (ca !== null) socket.on('readable', () => undefined);
      timer = setInterval(() => (ca === null ? socket.resume() : socket.read(most)), everyMs);
      return;
    }
    const headEnd = bytes.indexOf('\r\n\r\n') + 4;
    let at = headEnd;
    socket.write(bytes.subarray(0, headEnd));
    socket.resume();
    timer = setInterval(() => socket.write(bytes.subarray(at, ++at)), DRIP_EVERY_MS);
  });
}

function pipelineOn(socket: Socket, bytes: Buffer): void {
  const volley = Buffer.concat(Array.from({ length: PIPELINED }, () => bytes));
  const fire = (): void => {
    if (socket.destroyed) return;
    if (socket.write(volley)) setImmediate(fire);
    else socket.once('drain', fire);
  };
  socket.resume();
  fire();
}

function asBytes({ method, path, headers, body }: Shot, apiKey: string): Buffer {
  const lines = Object.entries({
    host: 'quiver',
    'x-api-key': apiKey,
    ...headers,
    ...(body === null ? {} : { 'content-length': body.length }),
  });
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`),
    body ?? Buffer.alloc(0),
  ]);
}
