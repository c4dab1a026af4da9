import { join } from 'node:path';
import { credentialsOfThread, threadCredentials } from '../../../../../shared/wire/handshake/thread-credentials';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import type { ClusterCredentials } from '../../../../../shared/wire/streams/rpc-channel';
import { channelCredentials, readClusterTls } from '../../../../../shared/wire/handshake/transport-security';

const file = (name: string): string => join(__dirname, '../../../../support/certificates', name);

test('a thread has the certificates that the main thread read, as gRPC wants them, and a log of its own', () => {
  const tls = {
    ...readClusterTls({ caFile: file('ca.pem'), certFile: file('server.pem'), keyFile: file('server.key.pem') }),
    serverName: 'member',
  };
  const own: ClusterCredentials = {
    secret: 'a',
    otherSecret: undefined,
    name: 'coordinator',
    tls,
    log: { ...silentLogger },
  };
  // As what a worker is started with is copied.
  const { credentials: arrived } = credentialsOfThread(structuredClone(threadCredentials(own)), silentLogger);
  expect({ ...arrived, tls: { ...arrived.tls, renewed: undefined } }).toEqual({
    ...own,
    tls: { ...tls, renewed: undefined },
    log: silentLogger,
  });
  expect(channelCredentials(arrived.tls)._isSecure()).toBe(true);
  expect(
    credentialsOfThread(structuredClone(threadCredentials({ ...own, tls: null })), silentLogger).credentials.tls,
  ).toBeNull();
});
