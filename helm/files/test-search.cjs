// What `helm test` runs in a pod: a collection is made, written, searched and deleted, through the API as clients use it.
// Reads QUIVER (base address) and API_KEY; ends with 0 when every answer was right, and with 1 and a line that says
// which was not.
const { randomUUID } = require('node:crypto');

const CALL_MS = 30_000;
const name = `helm-test-${randomUUID()}`;

async function call(method, path, body) {
  const response = await fetch(process.env.QUIVER + path, {
    method,
    headers: { 'x-api-key': process.env.API_KEY, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(CALL_MS),
  });
  const { status, data, error } = await response.json();
  if (status !== 'success') throw new Error(`${method} ${path}: ${error.code} ${error.message}`);
  return data;
}

async function run() {
  const items = Array.from({ length: 8 }, (_, i) => ({ external_id: `item-${i}`, vector: [Math.cos(i / 4), Math.sin(i / 4)], metadata: { i } }));
  await call('POST', '/v1/collections', { name, dim: 2 });
  try {
    await call('POST', `/v1/collections/${name}/bulk_upsert`, { items });
    for (const { external_id, vector } of items) {
      const { results } = await call('POST', `/v1/collections/${name}/search`, { vector, k: 1 });
      if (results[0]?.external_id !== external_id) throw new Error(`nearest to ${external_id} is ${results[0]?.external_id}`);
    }
  } finally {
    await call('DELETE', `/v1/collections/${name}`);
  }
}

run().then(
  () => console.log(`${name} was made, written, searched and deleted`),
  (error) => {
    console.error(`${error.message}${error.cause ? ` (${error.cause.message})` : ''}`);
    process.exitCode = 1;
  },
);
