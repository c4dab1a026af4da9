import { seededRandom } from '../support/values/random';

/** The randomness of one simulated run: all of it from one seed. */
export class Chance {
  private readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(Math.imul(seed, 2_654_435_761));
  }

  /** [0, 1) */
  unit(): number {
    return this.random();
  }

  below(n: number): number {
    return Math.floor(this.random() * n);
  }

  happens(probability: number): boolean {
    return probability > 0 && this.random() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  /** Exponentially distributed. */
  around(mean: number): number {
    return -Math.log(1 - this.random()) * mean;
  }
}
