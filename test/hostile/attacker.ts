import { setPriority } from 'node:os';
import { seededRandom } from '../support/random';
import { ATTACKS } from './attacks/catalogue';
import { type Address, attackWith, type Tally } from './hostile-client';

/**
 * The process of one hostile client. It is told what to do by an Order, makes its shots and says `prepared`; on `go` it
 * attacks until it is killed, and says every now and then what became of its shots.
 */
export interface Order {
  /** Names of attacks; several are done side by side, by few connections each. */
  attacks: string[];
  address: Address;
  seed: number;
}

const TELL_EVERY_MS = 200;
/** Connections of each of several attacks that one client does at once. */
const LANES_EACH_MAX = 2;
/** Hostile clients are elsewhere in earnest: here they must not take the processors from what they attack. */
const LOWEST_PRIORITY = 19;

setPriority(LOWEST_PRIORITY);
process.once('message', ({ attacks, address, seed }: Order) => {
  const random = seededRandom(seed);
  const lanesMax = attacks.length === 1 ? Infinity : LANES_EACH_MAX;
  const prepared = ATTACKS.filter(({ name }) => attacks.includes(name)).map((attack) => ({ attack, shots: attack.shots(random) }));
  process.once('message', () => {
    const tally: Tally = {};
    for (const { attack, shots } of prepared) attackWith(address, { ...attack, lanes: Math.min(attack.lanes, lanesMax) }, shots, tally);
    setInterval(() => process.send?.(tally), TELL_EVERY_MS);
  });
  process.send?.('prepared');
});
process.once('disconnect', () => process.exit(0));
