// `quiver demo`: has a running service load its demo. The service is asked by its API: at the address that is given, else on
// this machine at PORT; with the key in API_KEY.
const TIMEOUT_MS = 300_000;

/** @param {string} [address] */
async function loadDemo(address = `http://localhost:${process.env.PORT || 8000}`) {
  const key = process.env.API_KEY;
  if (!key) return fail('API_KEY is not set: it must hold a key with the role readwrite or admin; the first start printed the admin key');
  const base = address.replace(/\/+$/, '');
  try {
    const answer = await fetch(`${base}/v1/demo`, { method: 'POST', headers: { 'x-api-key': key }, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { data, error } = /** @type {{ data: any, error: { message: string } | null }} */ (await answer.json());
    if (error !== null) return fail(error.message);
    process.stdout.write(
      `${data.loaded ? 'Stored' : 'There are already'} ${data.count} texts in the collection "${data.collection}" (${data.embedding_model}, ${data.dim} dimensions).\nLook at them: ${base}/ui\n`,
    );
  } catch (error) {
    const { message, cause } = /** @type {Error & { cause?: Error }} */ (error);
    fail(`no answer from ${base}: ${cause?.message || message}`);
  }
}

/** @param {string} message */
function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

module.exports = { loadDemo };
