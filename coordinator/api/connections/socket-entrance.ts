import { type ApiServer, closeHttpServer } from '../http/http-server';
import { portRefused } from '../../../shared/base/errors/port-refused';

/**
 * Calls over HTTP by a socket of the file system, from whoever may open that: a service that a program has for itself.
 */
export class SocketEntrance {
  private server: ApiServer | null = null;

  constructor(private readonly path: string) {}

  /** Errors: invalid_parameter when there can be no socket of that name. */
  async open(server: ApiServer, onError: (error: Error) => void): Promise<void> {
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      const refused = (cause: Error): void => reject(portRefused(`socket ${this.path}`, '--private', cause));
      server.once('error', refused);
      server.listen(this.path, () => {
        server.off('error', refused);
        server.on('error', onError);
        resolve();
      });
    });
  }

  async close(graceMs: number): Promise<void> {
    if (this.server !== null) await closeHttpServer(this.server, graceMs);
  }
}
