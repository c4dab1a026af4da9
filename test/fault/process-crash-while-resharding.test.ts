import { ApiClient, dataOf } from '../support/targets/api-client';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';
import { contradictionsOf } from '../support/stories/register-history';
import { RegisterWorkload } from '../support/stories/register-workload';

const COLLECTION = 'ledger';
const BALLAST = 2000;

/** The numbers of shards that it gets, and most milliseconds from when each is asked for to the kill. */
const KILLS: [number, number][] = [
  [4, 300],
  [3, 900],
  [8, 1_500],
  [2, 2_500],
];

const quiver = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
afterAll(() => quiver.destroy());

test('kill -9 of the embedded process at any moment of a reshard: the next start goes on, and nothing is lost', async () => {
  const seed = runSeed('reshard-embedded');
  const random = seededRandom(seed);
  await quiver.start();
  const api = new ApiClient({ baseUrl: quiver.baseUrl, adminKey: quiver.apiKey });
  const path = `/v1/collections/${COLLECTION}`;
  dataOf(await api.post('/v1/collections', { name: COLLECTION, dim: 4, shards: 1 }));
  for (let from = 0; from < BALLAST; from += 500) {
    const items = Array.from({ length: 500 }, (_, i) => ({
      external_id: `ballast-${from + i}`,
      vector: [1, 2, 3, from + i],
      metadata: { n: from + i },
    }));
    dataOf(await api.post(`${path}/bulk_upsert`, { items }));
  }
  const workload = new RegisterWorkload({ urls: () => [quiver.baseUrl], collection: COLLECTION, seed, clients: 4 });
  const met: string[] = [];
  for (const [shards, withinMs] of KILLS) {
    dataOf(await api.post(`${path}/reshard`, { shards }));
    await new Promise((wake) => setTimeout(wake, random() * withinMs));
    const { reshards } = dataOf(await api.get('/v1/cluster'));
    met.push(reshards[0]?.state ?? 'over');
    await quiver.kill();
    await quiver.start();
    await eventually(`it has ${shards} shards`, async () => dataOf(await api.get(path)).shards === shards);
  }
  await workload.stop();
  await workload.readAll(quiver.baseUrl);
  console.log(`killed while ${met.join(', ')}`);
  expect(contradictionsOf(workload.history)).toEqual([]);
  expect([...workload.errors.keys()].filter((message) => !message.startsWith('broken connection'))).toEqual([]);
  const { vectors, count } = dataOf(await api.get(`${path}/export?limit=100000`));
  const ballast = vectors
    .map((one: { external_id: string }) => one.external_id)
    .filter((id: string) => id.startsWith('ballast-'));
  expect(ballast).toEqual(Array.from({ length: BALLAST }, (_, i) => `ballast-${i}`));
  expect(dataOf(await api.get(path)).vector_count).toBe(count);
});
