import { createServer, type Server, type Socket } from 'node:net';
import { acceptWide, type DuplicateHandle } from '../../base/process/wide-accept';
import { NODES_GREETING, PROOF_GREETING, READS_GREETING } from '../frames/reads-greeting';

/**
 * `reads`: frames follow, for a thread that answers reads. `nodes`: frames of another node, for no thread. `proof`: the
 * proof of a member, and then HTTP/2, for no thread either.
 */
export type GreetedForm = 'reads' | 'nodes' | 'proof';

/** Who takes connections that begin with the greeting of a form, which has been read. */
export type GreetedTakers = Partial<Record<GreetedForm, (socket: Socket) => void>>;

const GREETINGS: readonly { bytes: Buffer; form: GreetedForm; isFollowed?: true }[] = [
  { bytes: READS_GREETING, form: 'reads' },
  { bytes: NODES_GREETING, form: 'nodes' },
  { bytes: PROOF_GREETING, form: 'proof', isFollowed: true },
];

/**
 * A listening socket that looks at how each connection begins: one that begins with a greeting goes to who takes it,
 * any other one is `plain`, with all of its bytes still to be read. If nobody takes any, all are plain at once.
 * `arrived` is called before anything is read, and bounds how long and how many say nothing.
 */
export class GreetedServer {
  private readonly server: Server;
  private readonly greetings: typeof GREETINGS;

  constructor(
    private readonly parts: {
      arrived: (socket: Socket) => void;
      greeted: GreetedTakers;
      plain: (socket: Socket) => void;
      /** Many connections can be taken at a time with it. */
      duplicateHandle: DuplicateHandle | null;
    },
  ) {
    this.greetings = GREETINGS.filter(({ form }) => parts.greeted[form] !== undefined);
    this.server = createServer((socket) => this.take(socket));
  }

  /** Listens at host:port; port 0 takes a free one. Resolves to the port. Errors: those of listening. */
  listen(address: string): Promise<number> {
    const at = address.lastIndexOf(':');
    const host = address.slice(0, at).replace(/^\[|\]$/g, '');
    return new Promise((done, fail) => {
      this.server.once('error', fail);
      this.server.listen(Number(address.slice(at + 1)), host, () => {
        this.server.off('error', fail);
        // A connection that could not be accepted: the client tries again.
        this.server.on('error', () => undefined);
        if (this.parts.duplicateHandle !== null) acceptWide(this.server, this.parts.duplicateHandle);
        done((this.server.address() as { port: number }).port);
      });
    });
  }

  /** Takes no further connections. */
  close(): void {
    if (this.server.listening) this.server.close();
  }

  private take(socket: Socket): void {
    const { arrived, greeted, plain } = this.parts;
    arrived(socket);
    if (this.greetings.length === 0) return plain(socket);
    let seen: Buffer = Buffer.alloc(0);
    const cut = (): void => void socket.destroy();
    const see = (chunk: Buffer): void => {
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      const greeting = this.greetings.find(({ bytes }) =>
        bytes.subarray(0, seen.length).equals(seen.subarray(0, bytes.length)),
      );
      if (greeting !== undefined && seen.length < greeting.bytes.length) return;
      socket.off('data', see);
      socket.off('error', cut);
      socket.pause();
      // Who greets waits for the welcome: nothing follows before that, but for a hello.
      const isGreeting =
        greeting !== undefined && (greeting.isFollowed === true || seen.length === greeting.bytes.length);
      const rest = isGreeting ? seen.subarray(greeting.bytes.length) : seen;
      if (rest.length > 0) socket.unshift(rest);
      if (isGreeting) greeted[greeting.form]!(socket);
      else plain(socket);
    };
    socket.on('data', see);
    socket.on('error', cut);
    return undefined;
  }
}
