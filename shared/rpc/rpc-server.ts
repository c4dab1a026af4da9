import { Server, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { silentLogger } from '../logs/logger';
import { MemberProof } from '../secret/member-proof';
import { serverOptions } from './channel-options';
import { membersDefinition } from './handshake-metadata';
import { MemberGate } from './member-gate';
import type { ClusterCredentials } from './rpc-channel';
import { type ClusterTls, serverCredentials } from './transport-security';

/** One gRPC service of a process. */
export interface RpcService {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
  /** Takes nothing more, answers what it has taken, then ends its streams. */
  drain(): Promise<void>;
}

/** Hello is answered by the gate and never gets here; without a handler it would be unknown before the gate. */
const noHandlers: UntypedServiceImplementation = { Hello: (call: { end: () => void }) => call.end() };

/** The gRPC server of a cluster's member: lets in only who proves the secret and, with TLS, who has a certificate. */
export class RpcServer {
  private readonly server: Server;
  private readonly services: RpcService[];
  private readonly tls: ClusterTls | null;
  private readonly addressOf: ((port: number) => string) | null;
  /** Where it listens, '' before it does. */
  private listensAt = '';
  private port = 0;
  private closing: Promise<void> | null = null;

  /** `addressOf`: host:port by which other members know this one when it serves at a port; else where it listens. */
  constructor(parts: ClusterCredentials & { services: RpcService[]; addressOf?: (port: number) => string }) {
    const gate = new MemberGate({ proof: new MemberProof(parts), name: parts.name ?? '', address: () => this.addressOf?.(this.port) ?? this.listensAt, log: parts.log ?? silentLogger });
    this.server = new Server({ ...serverOptions, interceptors: [gate.interceptor] });
    this.addressOf = parts.addressOf ?? null;
    this.server.addService(membersDefinition, noHandlers);
    this.services = parts.services;
    this.tls = parts.tls;
    for (const { definition, handlers } of parts.services) this.server.addService(definition, handlers);
  }

  /** Serves at host:port; port 0 takes a free one. Answers the port. Errors: those of listening. */
  listen(address: string): Promise<number> {
    return new Promise((done, fail) => {
      this.server.bindAsync(address, serverCredentials(this.tls), (error, port) => {
        if (error !== null) return fail(error);
        this.port = port;
        this.listensAt = `${address.slice(0, address.lastIndexOf(':'))}:${port}`;
        done(port);
      });
    });
  }

  /**
   * Lets running calls finish for up to `graceMs`, then cuts what is left: with 0 at once, as if the process had died.
   * Never fails; the first call decides how.
   */
  close(graceMs: number): Promise<void> {
    this.closing ??= this.shutDown(graceMs);
    return this.closing;
  }

  private async shutDown(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((over) => (timer = setTimeout(over, graceMs)));
      await Promise.race([this.drain(), patience]);
      clearTimeout(timer);
    }
    this.server.forceShutdown();
  }

  private async drain(): Promise<void> {
    const ended = new Promise<void>((done) => this.server.tryShutdown(() => done()));
    await Promise.allSettled(this.services.map((service) => service.drain()));
    await ended;
  }
}
