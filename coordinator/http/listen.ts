import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { QuiverError } from '../../shared/errors/quiver-error';

/**
 * Opens the public port and answers its number; `onError` hears of connections that could not be taken afterwards (without
 * a listener such an event would end the process). Errors: invalid_parameter when the port or address can't be had.
 */
export function listen(server: Server, port: number, host: string, onError: (error: Error) => void = () => undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const refused = (cause: Error): void =>
      reject(new QuiverError('invalid_parameter', `the port ${host}:${port} can't be opened (PORT): ${cause.message}`, { cause }));
    server.once('error', refused);
    server.listen(port, host, () => {
      server.off('error', refused);
      server.on('error', onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
