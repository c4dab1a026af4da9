import { resolve } from 'node:path';
import { ClusterProcesses } from '../support/cluster-processes';

const certificate = (name: string): string => resolve(__dirname, '../support/certificates', name);

test('members that speak mutual TLS replicate and answer; one without a certificate is not let in', async () => {
  const environment = { TLS_CA_FILE: certificate('ca.pem'), TLS_CERT_FILE: certificate('server.pem'), TLS_KEY_FILE: certificate('server.key.pem') };
  const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, replicas: 2, environment });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'sealed', dim: 2 });
    await cluster.data('POST', '/v1/collections/sealed/upsert', { external_id: 'x', vector: [1, 2] });
    const { results } = await cluster.data('POST', '/v1/collections/sealed/search', { vector: [1, 2], k: 1 });
    expect(results).toMatchObject([{ external_id: 'x' }]);
    await cluster.settled();

    const stranger = await cluster.addCoordinator({ TLS_CA_FILE: '', TLS_CERT_FILE: '', TLS_KEY_FILE: '', REQUEST_TIMEOUT_MS: '1500' });
    await stranger.start();
    const answer = await cluster.call('POST', '/v1/collections/sealed/search', { vector: [1, 2], k: 1 }, 1);
    expect(answer.error).toMatchObject({ code: 500, message: expect.stringContaining('unavailable') });
  } finally {
    await cluster.destroy();
  }
}, 90_000);
