import { generateLoad } from './load-generator.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { median } from './measure.mjs';

/**
 * Requests of several kinds in turns on one connection, `rounds` times `seconds` of each: p50 and p99 by kind, in
 * milliseconds, medians over the rounds.
 */
export async function measureTurns(address, turns, { seconds, rounds }) {
  const found = {};
  for (let round = 0; round < Number(rounds); round++) {
    for (const [kind, requests] of Object.entries(turns)) {
      const { p50Ms, p99Ms } = await generateLoad({ address, requests, connections: 1, seconds: Number(seconds) });
      (found[kind] ??= []).push({ p50Ms, p99Ms });
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([kind, all]) => [
      kind,
      { p50Ms: median(all.map((one) => one.p50Ms)), p99Ms: median(all.map((one) => one.p99Ms)) },
    ]),
  );
}

/** How long one request takes on a connection of its own, and its data. Throws when it is refused. */
export async function timedRequest(address, { method, path, headers, body }) {
  const connection = await HttpConnection.open(address);
  const head = requestHead({ method, path, headers, ...address, bodyBytes: Buffer.byteLength(body) });
  const since = performance.now();
  const answer = JSON.parse(await connection.send(head, body));
  const ms = performance.now() - since;
  connection.close();
  if (answer.status !== 'success') throw new Error(JSON.stringify(answer.error));
  return { ms, data: answer.data };
}
