import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Attack, DIM, library, LIBRARY } from './attack';
import { seededRandom } from '../support/values/random';
import { AttackParty } from './attack-party';
import type { Order } from './attacker';
import { ATTACKS, attacksNamed, attacksOn } from './attacks/catalogue';
import { HonestClient, quantile, type Waits } from './honest-client';
import type { Tally } from './hostile-client';
import { ProcessWatch } from './process-watch';
import { ANSWER_BYTES_MAX, type Stage } from './stage';

/** How many hostile clients of each role there are at once. */
export const HOSTILE = { readonly: 8, readwrite: 2 } as const;
const SEARCH_EVERY_MS = 25;
const LIVEZ_EVERY_MS = 50;
/**
 * Before an attack honest clients ask alone until the service is at rest: connections are made, code is warm, indexes
 * of what was just loaded are built. At rest is when, within a second, no search waited CALM_WAIT_MS milliseconds and
 * all processes together used less than CALM_PROCESSOR_SECONDS: hostile clients of the lowest priority get no turn
 * beside processes that build an index, and honest ones wait for these.
 */
const CALM_WAIT_MS = 50;
const CALM_PROCESSOR_SECONDS = 1;
const CALM_MS = 1_000;
const CALM_WITHIN_MS = 120_000;

export interface RoundReport {
  name: string;
  search: Summary;
  /** By process. */
  livez: Record<string, Summary>;
  /** How late the harness itself was at most: that much of a wait may be its own. */
  ownLatenessMs: number;
  peakMiB: Record<string, number>;
  /** The longest stretch of work of each process, in milliseconds of processor time, and of which thread. */
  turns: Record<string, string>;
  tally: Tally;
  /** Shards that another node leads, or again, since the attack began. */
  leadChanges: string[];
  /** What may not be, whatever the waits. */
  failures: string[];
}

/** `isSecured`: the API has to speak TLS for one of its attacks. */
export interface Round {
  name: string;
  attacks: string[];
  isSecured: boolean;
}

export interface Summary {
  longestMs: number;
  p99Ms: number;
  count: number;
  refused: number;
}

/**
 * One round: honest clients ask all the time, hostile ones attack for `seconds`; then up to `patienceMs` for answers
 * that are due.
 */
export async function runRound(
  stage: Stage,
  round: { name: string; attacks: string[]; seconds: number; seed: number; patienceMs: number; nice: number },
): Promise<RoundReport> {
  const party = round.attacks.length === 0 ? null : await AttackParty.prepare(ordersFor(stage, round));
  const lateness = monitorEventLoopDelay({ resolution: 5 });
  const watch = new ProcessWatch(stage.members);
  const host = '127.0.0.1';
  const key = { 'x-api-key': stage.keys.honest };
  const body = JSON.stringify({ vector: Array.from({ length: DIM }, (_, i) => i / DIM), k: 3 });
  const search = new HonestClient(
    {
      host,
      port: stage.apiPort,
      method: 'POST',
      path: library('search'),
      headers: { ...key, 'content-type': 'application/json' },
      body,
      expects: '"status":"success","data":{"results":[{"external_id":"book-',
      ca: stage.ca,
    },
    SEARCH_EVERY_MS,
  );
  const probes = stage.members.map(({ name, opsPort }) => ({
    name,
    client: new HonestClient(
      { host, port: opsPort, method: 'GET', path: '/livez', headers: {}, body: '', expects: 'ok', ca: null },
      LIVEZ_EVERY_MS,
    ),
  }));
  const epochs = await stage.epochs();
  for (const client of [search, ...probes.map(({ client }) => client)]) client.begin();
  const isCalm = await calm(search, watch);
  lateness.enable();
  const sinceMs = Date.now();
  party?.attack();
  await pause(round.seconds * 1000);
  const ending = [search.end(round.patienceMs), ...probes.map(({ client }) => client.end(round.patienceMs))];
  const tally = (await party?.end()) ?? {};
  const [searchWaits, ...livezWaits] = await Promise.all(ending);
  lateness.disable();
  const turns = Object.fromEntries(
    stage.members.flatMap(({ name, pid }) => {
      const longest = stage.longestTurn(pid, sinceMs);
      return longest === null ? [] : [[name, `${longest.ms} (${longest.thread})`]];
    }),
  );
  const { peakMiB, grownMiB, gone } = watch.end();
  const failures = [
    ...(isCalm ? [] : [`the service was not at rest within ${CALM_WITHIN_MS} ms before the attack`]),
    ...gone.map((name) => `${name} is gone`),
    ...searchWaits.wrong.map((what) => `search: ${what}`),
    ...livezWaits.flatMap(({ wrong }, i) => wrong.map((what) => `livez of ${probes[i].name}: ${what}`)),
    ...stage.complaints().slice(0, 5),
    ...memoryExcesses(round.attacks, grownMiB),
  ];
  const hasBound = all(round.attacks, ({ holdsAnswers, door }) => holdsAnswers || door !== null);
  if (searchWaits.refused > 0 && hasBound) failures.push(`${searchWaits.refused} honest searches were refused`);
  if (party !== null && Object.keys(tally).length === 0)
    failures.push('nothing of the attack came about: the machine had no turn for it');
  if ((tally[500] ?? 0) > 0) failures.push(`${tally[500]} answers with code 500`);
  const after =
    gone.length > 0
      ? {}
      : await stage.epochs().catch((error: Error) => {
          failures.push(`GET /v1/cluster: ${error.message}`);
          return {} as Record<string, number>;
        });
  const leadChanges = Object.keys(after)
    .filter((shard) => shard.startsWith(`${LIBRARY}/`) && after[shard] !== epochs[shard])
    .map((shard) => `${shard}: ${epochs[shard]} → ${after[shard]}`);
  return {
    name: round.name,
    search: summaryOf(searchWaits),
    livez: Object.fromEntries(probes.map(({ name }, i) => [name, summaryOf(livezWaits[i])])),
    ownLatenessMs: Math.round(lateness.max / 1e6),
    peakMiB,
    turns,
    tally,
    leadChanges,
    failures,
  };
}

/** Waits until a service that nobody attacks is at rest, and forgets what its searches waited until then. */
async function calm(search: HonestClient, watch: ProcessWatch): Promise<boolean> {
  for (const until = performance.now() + CALM_WITHIN_MS; performance.now() < until;) {
    const before = watch.processorSeconds();
    await pause(CALM_MS);
    const isBusy = watch.processorSeconds() - before >= CALM_PROCESSOR_SECONDS;
    const { waitsMs, wrong } = search.restart();
    if (!isBusy && wrong.length === 0 && waitsMs.length > 0 && Math.max(...waitsMs) < CALM_WAIT_MS) return true;
  }
  return false;
}

/**
 * What memory grows by for other reasons: heaps and caches of a process that begins to work, in mebibytes; and for each
 * connection, in kibibytes.
 */
const WORK_MIB = 128;
const CONNECTION_KIB = 64;

function all(names: readonly string[], is: (attack: Attack) => boolean): boolean {
  return names.length > 0 && ATTACKS.filter(({ name }) => names.includes(name)).every(is);
}

/** Strangers have no answers to hold. */
function memoryExcesses(names: readonly string[], grownMiB: Record<string, number>): string[] {
  const isByStrangers = all(names, ({ door }) => door !== null);
  if (!isByStrangers && !all(names, ({ holdsAnswers, door }) => holdsAnswers || door !== null)) return [];
  const connections = ATTACKS.filter(({ name }) => names.includes(name)).reduce(
    (sum, { lanes, role }) => sum + lanes * HOSTILE[role],
    0,
  );
  const answersMiB = isByStrangers ? 0 : ANSWER_BYTES_MAX / 1024 / 1024;
  const most = Math.ceil(answersMiB + (connections * CONNECTION_KIB) / 1024 + WORK_MIB);
  return Object.entries(grownMiB).flatMap(([name, grown]) =>
    grown > most ? [`the memory of ${name} grew by ${grown} MiB, more than ${most}`] : [],
  );
}

/** Every hostile client of the roles that the attacks need; of several attacks each client takes its share. */
function ordersFor(stage: Stage, round: { attacks: string[]; seed: number; nice: number }): Order[] {
  const attacks = ATTACKS.filter(({ name }) => round.attacks.includes(name));
  return (['readonly', 'readwrite'] as const).flatMap((role) => {
    const names = attacks.filter((attack) => attack.role === role).map(({ name }) => name);
    if (names.length === 0) return [];
    const address = {
      host: '127.0.0.1',
      port: stage.apiPort,
      apiKey: stage.keys[role],
      ca: stage.ca,
      doors: stage.doors,
    };
    return Array.from({ length: HOSTILE[role] }, (_, i) => ({
      attacks: names.length <= 1 ? names : names.filter((_name, place) => place % HOSTILE[role] === i),
      // Members are at 127.0.0.1 as well, and what they may have of connections is counted by address.
      address: { ...address, from: process.platform === 'linux' ? `127.0.0.${2 + i}` : null },
      seed: round.seed + i,
      nice: round.nice,
    })).filter((order) => order.attacks.length > 0);
  });
}

function summaryOf({ waitsMs, refused }: Waits): Summary {
  return {
    longestMs: Math.round(Math.max(0, ...waitsMs)),
    p99Ms: Math.round(quantile(waitsMs, 0.99)),
    count: waitsMs.length,
    refused,
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}

/**
 * The rounds of a run: nobody hostile, each attack by itself or `together` those named in one round, then `mixes`
 * rounds in which each hostile client does something else, and at last everything at once.
 */
export function roundsOf(
  beginnings: readonly string[],
  { together = false, mixes = 0, seed = 1, isCluster = false } = {},
): Round[] {
  const wanted = beginnings.filter((beginning) => beginning !== 'all' && beginning !== 'nobody');
  const isOnlyMixes = mixes > 0 && beginnings.length === 0;
  const named =
    isOnlyMixes || (beginnings.length > 0 && wanted.length === 0)
      ? []
      : attacksNamed(wanted, attacksOn(isCluster)).map(({ name }) => name);
  const single = together
    ? [{ name: beginnings.join(' + '), attacks: named }]
    : named.map((name) => ({ name, attacks: [name] }));
  const everything = attacksOn(isCluster).map(({ name }) => name);
  const whole =
    !together && !isOnlyMixes && (beginnings.length === 0 || beginnings.includes('all'))
      ? [{ name: 'all', attacks: everything }]
      : [];
  const rounds = [
    { name: 'nobody', attacks: [] },
    ...single,
    ...Array.from({ length: mixes }, (_, i) => mixOf(seed + i, isCluster)),
    ...whole,
  ];
  return rounds.map((round) => ({
    ...round,
    isSecured: ATTACKS.some(({ name, isSecured }) => isSecured && round.attacks.includes(name)),
  }));
}

/** As many attacks of each role as it has hostile clients, so that each of them does one. */
function mixOf(seed: number, isCluster: boolean): { name: string; attacks: string[] } {
  const random = seededRandom(seed);
  const attacks = (['readonly', 'readwrite'] as const).flatMap((role) => {
    const left = attacksOn(isCluster)
      .filter((attack) => attack.role === role)
      .map(({ name }) => name);
    return Array.from({ length: HOSTILE[role] }, () => left.splice(Math.floor(random() * left.length), 1)[0]);
  });
  return { name: `mix of seed ${seed}: ${attacks.join(', ')}`, attacks };
}
