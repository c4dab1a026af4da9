import { seededRandom } from './seeded-random.mjs';

const REQUESTS = 200_000;

/**
 * What waiting alone makes of latencies: requests come at random moments to `servers` that are busy for `utilisation`
 * of the time, and each takes one unit of time. Median and 99th percentile in that unit, of one queue for all servers,
 * and of a queue for each, to which requests go by chance. Simulated; the same each time.
 * @param {{ servers: number, utilisation: number }} load
 */
export function idealQueue({ servers, utilisation }) {
  return {
    shared: simulated(servers, utilisation, (free) => free.indexOf(Math.min(...free))),
    own: simulated(servers, utilisation, (free, random) => Math.floor(random() * free.length)),
  };
}

function simulated(servers, utilisation, choose) {
  const random = seededRandom(1);
  const free = new Array(servers).fill(0);
  const times = new Float64Array(REQUESTS);
  let now = 0;
  for (let i = 0; i < REQUESTS; i++) {
    now += -Math.log(1 - random()) / (servers * utilisation);
    const server = choose(free, random);
    free[server] = Math.max(now, free[server]) + 1;
    times[i] = free[server] - now;
  }
  times.sort();
  return { p50: times[REQUESTS / 2], p99: times[Math.floor(REQUESTS * 0.99)] };
}
