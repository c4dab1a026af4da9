import { Server, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Socket } from 'node:net';
import type { DuplicateHandle } from '../../base/process/wide-accept';
import { portRefused } from '../../base/errors/port-refused';
import { silentLogger } from '../../base/logs/logger';
import { MemberProof } from '../../base/secret/member-proof';
import { serverOptions } from './channel-options';
import { type FramesMethod, FramesAcceptor } from '../frames/frames-acceptor';
import { GreetedServer, type GreetedTakers } from '../handshake/greeted-server';
import { MemberAdmission } from '../handshake/member-admission';
import { ProofAcceptor } from '../handshake/proof-acceptor';
import { READS_WELCOME } from '../frames/reads-greeting';
import type { ClusterCredentials } from './rpc-channel';
import { StrangeBytes } from '../codecs/strange-bytes';
import { admitStreams, type StreamAdmission } from './stream-admission';
import { type ClusterTls, serverCredentials } from '../handshake/transport-security';
import { peerOf, type UnprovenBounds, UnprovenConnections } from '../handshake/unproven-connections';

/** One gRPC service of a process. */
export interface RpcService {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
  /** Accepts no further calls, answers those it has accepted, then ends its streams. */
  drain(): Promise<void>;
}

type ConnectionInjector = ReturnType<Server['createConnectionInjector']>;

/**
 * What a cluster's member serves others at one port: gRPC, and connections that carry frames. It admits only callers
 * that prove the secret and, with TLS, show a certificate.
 */
export class RpcServer {
  private readonly server: Server;
  private readonly admission: MemberAdmission;
  private readonly strangers: StreamAdmission;
  /** What serves connections that carry frames. */
  private readonly framed: FramesAcceptor<unknown, unknown>[] = [];
  private readonly services: RpcService[];
  private readonly tls: ClusterTls | null;
  private readonly duplicateHandle: DuplicateHandle | null;
  private readonly addressOf: ((port: number) => string) | null;
  /** The address it listens on; '' before it does. */
  private listensAt = '';
  private port = 0;
  private greeted: GreetedServer | null = null;
  /** Of connections that this process accepts. */
  private readonly unproven: UnprovenConnections;
  private closing: Promise<void> | null = null;

  /**
   * `addressOf`: the host:port by which other members know this one, given its port. Default: the address it listens
   * on. `unproven`: bounds of connections; see UnprovenConnections. With
   * `duplicateHandle`, many connections can be taken at a time.
   */
  constructor(
    parts: ClusterCredentials & {
      services: RpcService[];
      addressOf?: (port: number) => string;
      unproven?: UnprovenBounds;
      duplicateHandle?: DuplicateHandle;
    },
  ) {
    this.unproven = new UnprovenConnections(parts.unproven);
    this.admission = new MemberAdmission({
      proof: new MemberProof(parts),
      name: parts.name ?? '',
      address: () => this.addressOf?.(this.port) ?? this.listensAt,
      version: parts.version,
      log: parts.log ?? silentLogger,
      admitted: (peer) => this.unproven.proven(peer),
    });
    this.server = new Server(serverOptions);
    this.strangers = admitStreams(this.server, { admission: this.admission, log: parts.log ?? silentLogger });
    this.addressOf = parts.addressOf ?? null;
    this.services = parts.services;
    this.tls = parts.tls;
    this.duplicateHandle = parts.duplicateHandle ?? null;
    for (const { definition, handlers } of parts.services) this.server.addService(definition, handlers);
  }

  /**
   * Serves at host:port; port 0 takes a free one. Resolves to the port. Errors: invalid_parameter when the port or
   * address can't be used.
   */
  listen(address: string): Promise<number> {
    return this.listenBeside(address, null);
  }

  /**
   * As `listen`; connections that begin with a greeting for threads are not served here but given to `take`, unread, if
   * there is one. `framed`: what is served to other nodes on connections that carry frames.
   */
  async listenBeside<In, Out>(
    address: string,
    take: ((socket: Socket) => void) | null,
    framed: FramesMethod<In, Out> | null = null,
  ): Promise<number> {
    const injector = this.server.createConnectionInjector(serverCredentials(this.tls));
    const greeted: GreetedTakers = {
      ...(take !== null && { reads: take }),
      ...(framed !== null && { nodes: this.welcoming(framed) }),
      // By TLS, certificates have been shown before HTTP/2 begins.
      ...(this.tls === null && { proof: this.proving(injector) }),
    };
    this.greeted = new GreetedServer({
      arrived: (socket) => this.unproven.add(socket),
      greeted,
      plain: this.strange(injector),
      duplicateHandle: this.duplicateHandle,
    });
    const port = await this.greeted.listen(address).catch((cause: Error) => {
      throw portRefused(`port ${address}`, 'RPC_PORT', cause);
    });
    this.listens(address, port);
    return port;
  }

  /** Serves one method on connections that were accepted elsewhere, and carry frames. */
  framesAcceptor<In, Out>(method: FramesMethod<In, Out>): (socket: Socket) => void {
    const acceptor = this.acceptorOf(method);
    return (socket) => {
      this.unproven.add(socket);
      acceptor.take(socket);
    };
  }

  /**
   * Lets running calls finish for up to `graceMs`, then cuts those that are left; 0 cuts them at once, as if the
   * process had died. Never fails. The first call decides.
   */
  close(graceMs: number): Promise<void> {
    this.closing ??= this.shutDown(graceMs);
    return this.closing;
  }

  /** For connections that were accepted and greeted here. */
  private welcoming<In, Out>(method: FramesMethod<In, Out>): (socket: Socket) => void {
    const acceptor = this.acceptorOf(method);
    return (socket) => {
      socket.on('error', () => undefined);
      socket.write(READS_WELCOME);
      acceptor.take(socket);
    };
  }

  private acceptorOf<In, Out>(method: FramesMethod<In, Out>): FramesAcceptor<In, Out> {
    const acceptor = new FramesAcceptor({ method, admission: this.admission, tls: this.tls });
    this.framed.push(acceptor as unknown as FramesAcceptor<unknown, unknown>);
    return acceptor;
  }

  private proving(injector: ConnectionInjector): (socket: Socket) => void {
    const acceptor = new ProofAcceptor({
      admission: this.admission,
      proven: (socket) => this.strangers.arrivingProven(socket, () => injector.injectConnection(socket)),
    });
    return (socket) => acceptor.take(socket);
  }

  private strange(injector: ConnectionInjector): (socket: Socket) => void {
    // By TLS, strangers say nothing: it wants a member's certificate.
    if (this.tls !== null) return (socket) => injector.injectConnection(socket);
    return (socket) => {
      const peer = peerOf(socket);
      const bytes = new StrangeBytes(socket, () => !this.unproven.has(peer));
      this.strangers.arriving(socket, () => injector.injectConnection(bytes));
    };
  }

  private listens(address: string, port: number): void {
    this.port = port;
    this.listensAt = `${address.slice(0, address.lastIndexOf(':'))}:${port}`;
  }

  private async shutDown(graceMs: number): Promise<void> {
    this.greeted?.close();
    this.unproven.close();
    if (graceMs > 0) {
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((over) => (timer = setTimeout(over, graceMs)));
      await Promise.race([this.drain(), patience]);
      clearTimeout(timer);
    }
    for (const acceptor of this.framed) acceptor.close();
    this.server.forceShutdown();
  }

  private async drain(): Promise<void> {
    const ended = new Promise<void>((done) => this.server.tryShutdown(() => done()));
    await Promise.allSettled(this.services.map((service) => service.drain()));
    await ended;
  }
}
