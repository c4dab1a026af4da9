import { setPriority } from 'node:os';
import { seededRandom } from '../support/values/random';
import { ATTACKS } from './attacks/catalogue';
import { type Address, attackWith, type Tally } from './hostile-client';
import { strangersOn } from './stranger-client';

/**
 * The process of one hostile client. It is told what to do by an Order, makes its shots and says `prepared`; on `go` it
 * attacks until it is killed, and says every now and then what became of its shots.
 */
export interface Order {
  /** Names of attacks; several are done side by side, by few connections each. */
  attacks: string[];
  address: Address;
  seed: number;
  /** Of its process, as `nice` has it. */
  nice: number;
}

const REPORT_EVERY_MS = 200;
/** Connections of each of several attacks that one client does at once. */
const LANES_EACH_MAX = 2;

process.once('message', ({ attacks, address, seed, nice }: Order) => {
  setPriority(nice);
  const random = seededRandom(seed);
  const lanesMax = attacks.length === 1 ? Infinity : LANES_EACH_MAX;
  const prepared = ATTACKS.filter(({ name }) => attacks.includes(name)).map((attack) => ({
    attack,
    shots: attack.shots(random),
    volleys: attack.volleys(random),
  }));
  process.once('message', () => {
    const tally: Tally = {};
    for (const { attack, shots, volleys } of prepared) {
      const limited = { ...attack, lanes: Math.min(attack.lanes, lanesMax) };
      if (attack.door === null) attackWith(address, limited, shots, tally);
      else strangersOn(address, limited, volleys, tally);
    }
    setInterval(() => process.send?.(tally), REPORT_EVERY_MS);
  });
  process.send?.('prepared');
});
process.once('disconnect', () => process.exit(0));
