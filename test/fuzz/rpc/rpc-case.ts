import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { silentLogger } from '../../../shared/base/logs/logger';
import { FRAME_TYPES, frameOf } from '../../../shared/wire/frames/frame-link';
import { FramesChannel } from '../../../shared/wire/frames/frames-channel';
import { HANDSHAKE_VERSION, metadataOf } from '../../../shared/wire/handshake/handshake-metadata';
import { MemberHandshake } from '../../../shared/wire/handshake/member-handshake';
import { MemberSession } from '../../../shared/wire/handshake/member-session';
import { NODES_GREETING } from '../../../shared/wire/frames/reads-greeting';
import { MemberProof, NONCE_BYTES } from '../../../shared/base/secret/member-proof';

/** Who calls: a member, somebody with another secret, or somebody without. */
export type Standing = 'member' | 'wrong' | 'none';

/**
 * One stream of gRPC or, `framed`, of a connection that carries frames between nodes; or one connection of bare bytes.
 * Bytes are base64.
 */
export type RpcCase =
  | { kind: 'call' | 'framed'; to: 'node' | 'coordinator'; path: string; standing: Standing; frames: string[] }
  | { kind: 'bytes'; to: 'node' | 'coordinator'; pieces: string[] };

/** A stream is looked at for this long after its last frame: a bad frame is answered at once or never. */
const LISTEN_MS = 60;
const SESSION_ATTEMPTS = 6;
const CALL_DEADLINE_MS = 10_000;

/** Sends the case to a port; answers what is wrong with what came back. */
export function runRpcCase(port: number, secret: string, given: RpcCase): Promise<string[]> {
  if (given.kind === 'bytes') return sendBytes(port, given.pieces);
  return given.kind === 'call' ? call(port, secret, given) : framed(port, secret, given);
}

/** What a stream is opened with: by a session of a member's, with a proof that proves nothing, or without any. */
async function metadataFor(standing: Standing, path: string, session: MemberSession): Promise<Metadata> {
  if (standing === 'none') return new Metadata();
  if (standing === 'member') {
    for (let attempt = 1; ; attempt += 1) {
      const made = await session.make();
      if ('key' in made) return session.metadataFor(made, path);
      // A machine that is busy with other things may not get to it in time; a member that is gone never does.
      if (attempt === SESSION_ATTEMPTS) throw new Error(`no session with the member: ${made.reason}`);
    }
  }
  return metadataOf({
    version: HANDSHAKE_VERSION,
    name: 'stranger',
    nonce: randomBytes(NONCE_BYTES),
    serverNonce: randomBytes(NONCE_BYTES),
    number: '1',
    proof: randomBytes(32),
  });
}

async function call(
  port: number,
  secret: string,
  { path, standing, frames }: Extract<RpcCase, { frames: string[] }>,
): Promise<string[]> {
  const address = `127.0.0.1:${port}`;
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const session = new MemberSession({
    connect: () => client,
    handshake: new MemberHandshake({
      address,
      name: 'the-fuzzer',
      proof: new MemberProof({ secret }),
      log: silentLogger,
    }),
  });
  const metadata = await metadataFor(standing, path, session);
  return new Promise((done) => {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const stream = client.makeBidiStreamRequest(path, asIs, asIs, metadata, {
      deadline: Date.now() + CALL_DEADLINE_MS,
    });
    const faults: string[] = [];
    const finish = (): void => {
      clearTimeout(timer);
      stream.cancel();
      session.close();
      done(faults);
    };
    const timer = setTimeout(finish, LISTEN_MS);
    stream.on(
      'data',
      () => standing !== 'member' && faults.push(`access: ${path} answered a caller without the secret`),
    );
    // Its status comes with 'status'; a stream that is cut off has one too.
    stream.on('error', () => undefined);
    stream.on('status', ({ code, details }) => {
      const isRefused =
        code === status.UNAUTHENTICATED ||
        code === status.PERMISSION_DENIED ||
        code === status.UNIMPLEMENTED ||
        code === status.INVALID_ARGUMENT;
      if (
        standing !== 'member' &&
        code !== status.CANCELLED &&
        code !== status.UNAVAILABLE &&
        code !== status.INTERNAL &&
        code !== status.DEADLINE_EXCEEDED &&
        !isRefused
      )
        faults.push(`access: ${path} ended ${status[code]} for a caller without the secret: ${details}`);
      if (/\bat .{0,80}\.(?:ts|js):\d|node_modules/.test(details) || details.includes(secret))
        faults.push(`leak: ${details.slice(0, 300)}`);
      finish();
    });
    for (const frame of frames) stream.write(Buffer.from(frame, 'base64'));
  });
}

/** Who is no member sends its messages without a hello. */
function framed(
  port: number,
  secret: string,
  { path, standing, frames }: Extract<RpcCase, { frames: string[] }>,
): Promise<string[]> {
  if (standing !== 'member')
    return sendBytes(
      port,
      [NODES_GREETING, ...frames.map((frame) => frameOf(FRAME_TYPES.message, Buffer.from(frame, 'base64')))].map(
        (piece) => piece.toString('base64'),
      ),
    );
  const channel = new FramesChannel({
    address: `127.0.0.1:${port}`,
    credentials: { secret, name: 'the-fuzzer', tls: null },
    greeting: NODES_GREETING,
  });
  return new Promise((done) => {
    const faults: string[] = [];
    const finish = (): void => {
      clearTimeout(timer);
      channel.close();
      done(faults);
    };
    let timer = setTimeout(finish, CALL_DEADLINE_MS);
    const asIs = (bytes: Buffer): Buffer => bytes;
    const stream = channel.open<Buffer, Buffer>(
      { path, requestSerialize: asIs, responseDeserialize: asIs },
      {
        ready: () => {
          for (const frame of frames) stream.write(Buffer.from(frame, 'base64'), () => undefined);
          clearTimeout(timer);
          timer = setTimeout(finish, LISTEN_MS);
        },
        frame: () => undefined,
        ended: ({ reason }) => {
          if (/\bat .{0,80}\.(?:ts|js):\d|node_modules/.test(reason) || reason.includes(secret))
            faults.push(`leak: ${reason.slice(0, 300)}`);
          finish();
        },
      },
    );
  });
}

/**
 * Bare bytes: whatever the other end makes of them, it may not stay silent for ever on a connection that is no HTTP/2.
 */
function sendBytes(port: number, pieces: string[]): Promise<string[]> {
  return new Promise((done) => {
    const socket = connect({ host: '127.0.0.1', port });
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      done([]);
    };
    const timer = setTimeout(finish, LISTEN_MS);
    socket.on('error', () => undefined);
    socket.on('close', finish);
    socket.resume();
    socket.on('connect', () => pieces.forEach((piece) => socket.write(Buffer.from(piece, 'base64'))));
  });
}
