import type { Socket } from 'node:net';
import { FRAME_TYPES, FrameReader, frameOf } from '../frames/frame-link';
import { bytesOf, metadataFromBytes, metadataToBytes } from './handshake-metadata';
import type { MemberAdmission } from './member-admission';
import { READS_WELCOME } from '../frames/reads-greeting';
import { peerOf } from './unproven-connections';

/**
 * Takes connections that begin with PROOF_GREETING, and has the other end prove to be a member before anything else
 * reads from them:
 *
 *   client → server  the greeting; a frame `hello`
 *   server → client  the welcome; a frame `greeting`, by which the server has proven itself
 *   client → server  a frame `stream` with the proof of the connection; what it is for follows (HTTP/2)
 *
 * Frames and their fields are those of frame-link.ts, and the same gate judges them. The proof counts on this
 * connection alone. Whoever sends anything else is cut: a member says the same over HTTP/2 then, and is told there why
 * it is refused.
 */
export class ProofAcceptor {
  /** `proven` gets a connection of a member, with all that follows the proof still to be read. */
  constructor(private readonly parts: { admission: MemberAdmission; proven: (socket: Socket) => void }) {}

  take(socket: Socket): void {
    const { admission, proven } = this.parts;
    const peer = peerOf(socket);
    let serverNonce: Buffer | null = null;
    let isProven = false;
    const reader = new FrameReader((type, bytes) => {
      if (type === FRAME_TYPES.hello && serverNonce === null) {
        const refusal = admission.hello(metadataFromBytes(bytes), peer, (answer) => {
          [serverNonce = null] = bytesOf(answer, 'nonce');
          socket.write(Buffer.concat([READS_WELCOME, frameOf(FRAME_TYPES.greeting, metadataToBytes(answer))]));
        });
        if (refusal !== null) throw new Error(refusal.details);
      } else if (type === FRAME_TYPES.stream && serverNonce !== null) {
        const refusal = admission.connection(metadataFromBytes(bytes), serverNonce, peer);
        if (refusal !== null) throw new Error(refusal.details);
        isProven = true;
        reader.end();
      } else {
        throw new Error(`a frame of type ${type}, which has no place here`);
      }
    });
    const hear = (chunk: Buffer): void => {
      let rest: Buffer;
      try {
        rest = reader.take(chunk);
      } catch {
        // What is still read of it goes nowhere.
        socket.off('data', hear);
        socket.destroy();
        return;
      }
      if (!isProven) return;
      socket.off('data', hear);
      socket.pause();
      if (rest.length > 0) socket.unshift(rest);
      proven(socket);
    };
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', hear);
    socket.resume();
  }
}
