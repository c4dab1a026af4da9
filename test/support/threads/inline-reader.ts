import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { matches } from '../../../node/engine/filter/matches';
import { ShardViews } from '../../../node/engine/shard/reading/shard-views';
import type { Filter, JsonObject } from '../../../shared/contract/filter/filter';
import { parseFilter } from '../../../shared/contract/filter/parse-filter';
import { compareHits, type VectorSearchResult } from '../../../shared/contract/shard/shard-read';
import { filterOf, type InlineStory, metadataOf, PHASES, STEPS, vectorOf } from '../stories/inline-story';
import { seededRandom } from '../values/random';

/** Searches a shard inline, as fast as it can, and checks each answer by the rules of InlineStory. */

const K = 10;
const FAILURES_MAX = 5;

const story = workerData as InlineStory;
const { spec, items, port } = story;
const [answered, begun, phase, counts] = [story.answered, story.begun, story.phase, story.counts].map(
  (memory) => new Int32Array(memory),
);
const random = seededRandom(story.seed);
const views = new ShardViews();
const failures: string[] = [];
let dropped = 0;

/** Takes what has arrived; answers how many messages that were. */
function takeWaiting(from: MessagePort): number {
  let count = 0;
  for (let next = receiveMessageOnPort(from); next !== undefined; next = receiveMessageOnPort(from)) {
    const { type, part } = next.message as { type: string; part?: { memory: unknown } };
    if (type === 'part' && part?.memory === null) dropped += 1;
    views.take(next.message);
    count += 1;
  }
  return count;
}

const copyOf = (words: Int32Array): Int32Array => Int32Array.from(words, (_, i) => Atomics.load(words, i));
const lives = (change: number): boolean => change % 2 === 1;

/**
 * What is wrong with an answer for the item asked for, by the changes answered before and begun after it; null:
 * nothing.
 */
function wrongIn(
  { hits, vectorCount }: VectorSearchResult,
  filter: Filter | null,
  asked: number,
  before: Int32Array,
  after: Int32Array,
): string | null {
  const passes = (metadata: JsonObject): boolean => filter === null || matches(filter, metadata);
  const seen = new Set<number>();
  for (const hit of hits) {
    const item = Number(hit.externalId);
    const metadata = JSON.parse(hit.metadata) as JsonObject & { change: number };
    if (seen.has(item)) return `${item} twice`;
    seen.add(item);
    const { change } = metadata;
    if (!lives(change) || change < before[item] || change > after[item])
      return `${item} at ${change}, answered ${before[item]}, begun ${after[item]}`;
    if (!passes(metadata)) return `${item}, which does not pass ${JSON.stringify(filter)}`;
  }
  if (hits.some((hit, i) => i > 0 && compareHits(hits[i - 1], hit) > 0)) return 'out of order';
  const stays = (item: number): boolean =>
    lives(before[item]) && [0, STEPS.replaced].includes(after[item] - before[item]);
  // With a filter only of those that did not change it is known whether they passed all the time.
  const isFound = (item: number): boolean =>
    filter === null
      ? stays(item)
      : lives(before[item]) && after[item] === before[item] && passes(metadataOf(item, before[item]));
  if (isFound(asked) && !seen.has(asked)) return `${asked} was missed`;
  let least = 0;
  let leastFound = 0;
  let most = 0;
  for (let item = 0; item < items; item++) {
    least += stays(item) ? 1 : 0;
    leastFound += isFound(item) ? 1 : 0;
    most += lives(before[item]) || after[item] > before[item] ? 1 : 0;
  }
  if (hits.length < Math.min(K, leastFound) || hits.length > Math.min(K, most))
    return `${hits.length} hits of ${leastFound} to ${most} items`;
  if (vectorCount < least || vectorCount > most) return `a count of ${vectorCount} for ${least} to ${most} items`;
  return null;
}

/** An item that is being changed, if there is one: there most can go wrong. */
function itemToAsk(before: Int32Array): number {
  const first = Math.floor(random() * items);
  for (let i = 0; i < items; i++)
    if (Atomics.load(begun, (first + i) % items) !== before[(first + i) % items]) return (first + i) % items;
  return first;
}

/** Filters that are asked again and again, whose slots are remembered. */
const usual = Array.from({ length: 3 }, () => parseFilter(filterOf(random)));

function filterToAsk(): Filter | null {
  const kind = random();
  if (kind < 0.4) return null;
  return kind < 0.7 ? usual[Math.floor(random() * usual.length)] : parseFilter(filterOf(random));
}

function searchOnce(now: number): void {
  const filter = filterToAsk();
  const before = copyOf(answered);
  const asked = itemToAsk(before);
  const answer = views.search(spec, {
    vector: vectorOf(asked, before[asked]),
    k: K,
    filter,
    effort: { type: 'calibrated' },
    texts: false,
  });
  const after = copyOf(begun);
  const wrong = answer === null ? null : wrongIn(answer, filter, asked, before, after);
  if (wrong !== null) failures.push(`${PHASES[now]}: ${wrong}`);
  if (answer === null) {
    const arrived = takeWaiting(port);
    // What a search needs of new items was sent before they could be found.
    const isExcused =
      PHASES[now] === 'changes' || PHASES[now] === 'drops' || arrived > 0 || Atomics.load(phase, 0) !== now;
    if (!isExcused) failures.push(`${PHASES[now]}: no answer, with nothing to wait for`);
  }
  Atomics.add(counts, answer === null ? PHASES.length + now : now, 1);
}

for (let now = Atomics.load(phase, 0); now >= 0 && failures.length < FAILURES_MAX; now = Atomics.load(phase, 0)) {
  takeWaiting(port);
  searchOnce(now);
}
parentPort?.postMessage({ failures, dropped });
port.close();
