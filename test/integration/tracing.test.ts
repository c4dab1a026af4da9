import { ApiClient, dataOf } from '../support/api-client';
import { EmbeddedProcess } from '../support/embedded-process';
import { eventually } from '../support/eventually';
import { TraceReceiver } from '../support/trace-receiver';

test('try', async () => {
  const receiver = await TraceReceiver.start();
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: process.env.T ?? '1', ...receiver.environment, LOG_REQUESTS: 'all', LOG_LEVEL: 'info' } });
  await server.start();
  const api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 4, shards: 2 }));
  dataOf(
    await api.post('/v1/collections/c/bulk_upsert', {
      items: Array.from({ length: 50 }, (_, i) => ({ external_id: `i${i}`, vector: [i, 1, 2, 3], text: `word ${i}`, metadata: { even: i % 2 === 0 } })),
    }),
  );
  const a = dataOf(await api.post('/v1/collections/c/search?profile=true', { vector: [1, 2, 3, 4], k: 3, filters: { even: true } }));
  console.log(JSON.stringify(a.profile, null, 1));
  const b = dataOf(await api.post('/v1/collections/c/hybrid_search?profile=true', { query_text: 'word', k: 3 }));
  console.log(JSON.stringify(b.profile));
  await eventually('spans', () => receiver.spans.length > 20);
  await server.stop();
  console.log(
    receiver.spans
      .map((s) => `${s.traceId.slice(0, 4)} ${s.spanId.slice(0, 4)} <${s.parent.slice(0, 4)} ${s.kind} ${s.name} ${(s.endMs - s.startMs).toFixed(3)} ${JSON.stringify(s.attributes)}`)
      .join('\n'),
    receiver.spans[0].resource,
  );
  console.log(server.output.slice(-3000));
  await server.destroy();
  receiver.close();
});
