/** Lengths compared: quadratic work shows at once at the second. The last is the longest text of an item by default. */
const LENGTHS = [16_384, 65_536, 262_144];
/** How much more than in proportion it may be: caches and garbage. */
const SLACK = 3;
/** Milliseconds that say nothing: collecting garbage, compiling. */
const NOISE_MS = 25;

/** Further runs of what seems to cost too much. */
const REPEATS = 3;

/** Processor time of this process in milliseconds: what other processes do does not count. */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** {@link processorMs} of the cheapest of some runs: a collection of garbage or a compilation may fall into one. */
export function leastProcessorMs(work: () => void): number {
  return Math.min(...Array.from({ length: 1 + REPEATS }, () => processorMs(work)));
}

/**
 * Fails when work costs more than in proportion to the length of its text: at four times the length more than
 * {@link SLACK} × four times as much. `prepare` makes the work for a length. Answers the cost at the greatest one,
 * which is not run when a shorter one failed.
 */
export function expectLinear(
  name: string,
  prepare: (units: number) => () => void,
  lengths: readonly number[] = LENGTHS,
): number {
  let before: { units: number; ms: number } | null = null;
  let cost = 0;
  for (const units of lengths) {
    const work = prepare(units);
    const boundMs: number = before === null ? Infinity : NOISE_MS + SLACK * (units / before.units) * before.ms;
    let ms = processorMs(work);
    // A collection of garbage may fall into one run.
    for (let i = 0; i < REPEATS && ms > boundMs; i++) ms = Math.min(ms, processorMs(work));
    if (before !== null && ms > boundMs) {
      throw new Error(
        `${name}: ${before.ms.toFixed(1)} ms for ${before.units} units, ${ms.toFixed(1)} ms for ${units}`,
      );
    }
    before = { units, ms };
    cost = ms;
  }
  return cost;
}
