import { REGISTER_BITS } from '../../../shared/contract/shard/aggregate';

const REGISTERS = 2 ** REGISTER_BITS;
/** The rank of a hash whose other bits are all 0. */
const RANK_MAX = 64 - REGISTER_BITS + 1;

/** The standard error of {@link estimate}, as a part of what it answers. */
export const STANDARD_ERROR = Number((1.04 / Math.sqrt(REGISTERS)).toFixed(4));

/** How many values were noted (Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017). */
export function estimate(registers: Uint8Array): number {
  const counts = new Array<number>(RANK_MAX + 1).fill(0);
  for (const register of registers) counts[Math.min(register, RANK_MAX)] += 1;
  let z = REGISTERS * tau(1 - counts[RANK_MAX] / REGISTERS);
  for (let rank = RANK_MAX - 1; rank >= 1; rank -= 1) z = 0.5 * (z + counts[rank]);
  z += REGISTERS * sigma(counts[0] / REGISTERS);
  return Math.round(REGISTERS ** 2 / (2 * Math.LN2 * z));
}

function sigma(share: number): number {
  if (share === 1) return Infinity;
  let [power, factor, sum, before] = [share, 1, share, -1];
  while (sum !== before) {
    power *= power;
    before = sum;
    sum += power * factor;
    factor *= 2;
  }
  return sum;
}

function tau(share: number): number {
  if (share === 0 || share === 1) return 0;
  let [root, factor, sum, before] = [share, 1, 1 - share, -1];
  while (sum !== before) {
    root = Math.sqrt(root);
    before = sum;
    factor *= 0.5;
    sum -= (1 - root) ** 2 * factor;
  }
  return sum / 3;
}
