import { QuiverClient, RateLimitError } from '../../clients/typescript/src/index';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { startPlainServer } from '../support/servers/plain-server';
import { clientSuite } from './client-suite';

/** The TypeScript client against a real process. */

clientSuite(
  async (environment) => {
    const server = new EmbeddedProcess({ environment });
    await server.start();
    const client = new QuiverClient({ url: server.baseUrl, apiKey: server.apiKey });
    return { client, server, close: () => server.destroy() };
  },
  { isServed: true },
);

test('a limit says how long it lasts, and a patient client waits that long', async () => {
  const limited = await startPlainServer({ RATE_LIMIT_PER_MINUTE: '1' });
  try {
    const impatient = new QuiverClient({
      url: limited.baseUrl,
      apiKey: limited.adminKey,
      retry: { retryAfterMaxMs: 0 },
    });
    await impatient.health();
    const error: RateLimitError = (await impatient
      .health()
      .catch((thrown: RateLimitError) => thrown)) as RateLimitError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(error.retryAfterMs).toBeLessThanOrEqual(60_000);
    const patient = new QuiverClient({ url: limited.baseUrl, apiKey: limited.adminKey });
    const reason = new Error('not so patient');
    const call = patient.health({ signal: AbortSignal.timeout(50) });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(patient.health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  } finally {
    await limited.stop();
  }
});
