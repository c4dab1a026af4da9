import { connect } from 'node:net';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { secretMetadata } from '../../../shared/rpc/cluster-secret';

/** Who calls: a member, somebody with another secret, or somebody without. */
export type Standing = 'member' | 'wrong' | 'none';

/** One stream of gRPC, or one connection of bare bytes. Bytes are base64. */
export type RpcCase =
  | { kind: 'call'; to: 'node' | 'coordinator'; path: string; standing: Standing; frames: string[] }
  | { kind: 'bytes'; to: 'node' | 'coordinator'; pieces: string[] };

/** A stream is looked at for this long after its last frame: a bad frame is answered at once or never. */
const LISTEN_MS = 60;
const CALL_DEADLINE_MS = 10_000;

/** Sends the case to a port; answers what is wrong with what came back. */
export function runRpcCase(port: number, secret: string, given: RpcCase): Promise<string[]> {
  return given.kind === 'bytes' ? sendBytes(port, given.pieces) : call(port, secret, given);
}

function metadataFor(standing: Standing, secret: string): Metadata {
  return standing === 'none' ? new Metadata() : secretMetadata(standing === 'member' ? secret : `${secret}x`);
}

function call(port: number, secret: string, { path, standing, frames }: Extract<RpcCase, { kind: 'call' }>): Promise<string[]> {
  return new Promise((done) => {
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    const asIs = (bytes: Buffer): Buffer => bytes;
    const stream = client.makeBidiStreamRequest(path, asIs, asIs, metadataFor(standing, secret), { deadline: Date.now() + CALL_DEADLINE_MS });
    const faults: string[] = [];
    const finish = (): void => {
      clearTimeout(timer);
      stream.cancel();
      client.close();
      done(faults);
    };
    let timer: NodeJS.Timeout | undefined;
    stream.on('data', () => standing !== 'member' && faults.push(`access: ${path} answered a caller without the secret`));
    // Its status comes with 'status'; a stream that is cut off has one too.
    stream.on('error', () => undefined);
    stream.on('status', ({ code, details }) => {
      const isRefused = code === status.UNAUTHENTICATED || code === status.UNIMPLEMENTED || code === status.INVALID_ARGUMENT;
      if (standing !== 'member' && code !== status.CANCELLED && code !== status.UNAVAILABLE && code !== status.INTERNAL && code !== status.DEADLINE_EXCEEDED && !isRefused) faults.push(`access: ${path} ended ${status[code]} for a caller without the secret: ${details}`);
      if (/\bat .{0,80}\.(?:ts|js):\d|node_modules/.test(details) || details.includes(secret)) faults.push(`leak: ${details.slice(0, 300)}`);
      finish();
    });
    for (const frame of frames) stream.write(Buffer.from(frame, 'base64'));
    timer = setTimeout(finish, LISTEN_MS);
  });
}

/** Bare bytes: whatever the other end makes of them, it may not stay silent for ever on a connection that is no HTTP/2. */
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
