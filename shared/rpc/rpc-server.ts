import { Server, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { serverOptions } from './channel-options';
import { secretInterceptor } from './cluster-secret';
import { type ClusterTls, serverCredentials } from './transport-security';

/** One gRPC service of a process. */
export interface RpcService {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
  /** Takes nothing more, answers what it has taken, then ends its streams. */
  drain(): Promise<void>;
}

/** The gRPC server of a cluster's member: lets in only who knows the secret and, with TLS, who has a certificate. */
export class RpcServer {
  private readonly server: Server;
  private readonly services: RpcService[];
  private readonly tls: ClusterTls | null;
  private closing: Promise<void> | null = null;

  constructor(parts: { services: RpcService[]; secret: string; tls: ClusterTls | null }) {
    this.server = new Server({ ...serverOptions, interceptors: [secretInterceptor(parts.secret)] });
    this.services = parts.services;
    this.tls = parts.tls;
    for (const { definition, handlers } of parts.services) this.server.addService(definition, handlers);
  }

  /** Serves at host:port; port 0 takes a free one. Answers the port. Errors: those of listening. */
  listen(address: string): Promise<number> {
    return new Promise((done, fail) => {
      this.server.bindAsync(address, serverCredentials(this.tls), (error, port) => (error === null ? done(port) : fail(error)));
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
