import { ApiClient, dataOf } from '../support/targets/api-client';
import { startEmbedded } from '../support/targets/embedded-target';

/** A caller that sends many small requests at once gets an answer to each. */

test.each(['1', '2'])('256 searches of one key at once are answered, on %s thread(s)', async (threads) => {
  const target = await startEmbedded({ HTTP_THREADS: threads });
  try {
    const api = new ApiClient(target);
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
    dataOf(
      await api.post('/v1/collections/c/bulk_upsert', {
        items: Array.from({ length: 20 }, (_, i) => ({ external_id: `i${i}`, vector: [1, i], metadata: { i } })),
      }),
    );
    const answers = await Promise.all(
      Array.from({ length: 256 }, () => api.post('/v1/collections/c/search', { vector: [1, 1], k: 10 })),
    );
    expect(answers.filter((answer) => dataOf(answer).results.length !== 10)).toEqual([]);
  } finally {
    await target.stop();
  }
});
