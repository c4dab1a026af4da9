import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';

/**
 * Has `seen` hear from where a stream of HTTP/2 of this process is reset, if that may be while the library reads:
 * neither in a later turn nor because the connection is closed. Answers what ends that.
 */
export async function watchEarlyResets(seen: (stack: string) => void): Promise<() => void> {
  // What all streams are reset by is found by one of them.
  const server = createServer();
  const { port } = await new Promise<AddressInfo>((done) =>
    server.listen(0, '127.0.0.1', () => done(server.address() as AddressInfo)),
  );
  const client = connect(`http://127.0.0.1:${port}`);
  const served = new Promise<object>((done) => server.once('stream', done));
  client.request().on('error', () => undefined);
  const stream = await served;
  const handle = Object.getOwnPropertySymbols(stream).find(({ description }) => description === 'kHandle')!;
  const prototype = Object.getPrototypeOf((stream as Record<symbol, object>)[handle]) as {
    rstStream: (code: number) => void;
  };
  client.destroy();
  await new Promise((done) => server.close(done));
  const { rstStream } = prototype;
  prototype.rstStream = function (code) {
    const { stack = '' } = new Error('a stream is reset');
    if (!stack.includes('processImmediate') && !stack.includes('socketOnClose')) seen(stack);
    return rstStream.call(this, code);
  };
  return () => {
    prototype.rstStream = rstStream;
  };
}
