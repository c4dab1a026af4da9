/** Collections that requests make are removed beyond this many: they are not what is looked for. */
const COLLECTIONS_MAX = 20;
const FUZZED = { name: 'fuzzed', dim: 3, language: 'en' };

/**
 * Makes what requests are about, where one of them has removed it, and removes what they made. `data`: a call that must
 * succeed.
 */
export async function furnishFuzzed(
  data: (method: string, path: string, body?: unknown) => Promise<any>,
): Promise<void> {
  const { collections } = await data('GET', '/v1/collections');
  const names: string[] = collections.map((one: { name: string }) => one.name);
  const surplus = names.filter((name) => name !== 'canary' && name !== FUZZED.name).slice(COLLECTIONS_MAX);
  for (const name of surplus) await data('DELETE', `/v1/collections/${name}`).catch(() => undefined);
  if (!names.includes(FUZZED.name)) await data('POST', '/v1/collections', FUZZED);
  const items = [0, 1, 2].map((i) => ({
    external_id: `seed-${i}`,
    vector: [i, 1, 2],
    text: `seed ${i}`,
    metadata: { a: i },
  }));
  await data('POST', `/v1/collections/${FUZZED.name}/bulk_upsert`, { items });
}
