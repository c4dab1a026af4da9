import type { JsonObject } from '../../../shared/contract/filter/filter';
import {
  type Boost,
  BOOST_MODES,
  BOOST_MODIFIERS,
  type Boosts,
  DECAY_SHAPES,
  type DecayOrigin,
} from '../../../shared/contract/shard/boosts';

/** Metadata that boosts look at, and boosts of all kinds. */

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2024, 0, 1);

export class RandomBoosts {
  constructor(private readonly random: () => number) {}

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  /** Numbers are often small, and sometimes huge; of each field, some items have none, several, or something else. */
  metadata(): JsonObject {
    const likes = this.pick<() => JsonObject>([
      () => ({ likes: this.below(20) }),
      () => ({ likes: this.below(20) - 5 }),
      () => ({ likes: Math.floor(10 ** (6 * this.random())) }),
      () => ({ likes: [this.below(9), 'many', this.below(50)] }),
      () => ({ likes: 'none' }),
      () => ({}),
    ])();
    const when = this.pick<() => JsonObject>([
      () => ({ when: this.day() }),
      () => ({ when: [this.day(), this.day()] }),
      () => ({ when: 'soon' }),
      () => ({}),
    ])();
    const at = this.pick<() => JsonObject>([
      () => ({ at: this.place() }),
      () => ({ at: [this.place()] }),
      () => ({}),
    ])();
    return { kind: this.pick(['a', 'a', 'a', 'b', 'c']), n: this.below(100), deep: likes, ...when, ...at };
  }

  boosts(): Boosts {
    const mode = this.pick(BOOST_MODES);
    return { mode, parts: Array.from({ length: 1 + this.below(3) }, () => this.boost(mode)) };
  }

  private boost(mode: Boosts['mode']): Boost {
    // Beside a great number, small ones are rounded away.
    const weight = this.pick([0.2, 0.5, 1.5, 3, 10]) * (mode === 'add' ? this.pick([0.1, 1, 1, 1e13]) : 1);
    const signed = this.pick([weight, weight, -weight / 4, 0]);
    if (this.below(3) === 0)
      return {
        type: 'filter',
        filter: this.pick([
          { type: 'in', path: 'kind', values: [this.pick(['a', 'b', 'c'])] },
          { type: 'range', path: 'n', operator: 'lt', bound: this.pick([1, 10, 60]) },
        ]),
        weight: mode === 'multiply' ? weight : signed,
      };
    const missing = this.pick([null, null, 0, 0.5, 1]);
    if (this.below(2) === 0)
      return { type: 'field', path: 'deep.likes', modifier: this.pick(BOOST_MODIFIERS), weight: signed, missing };
    const [path, origin, unit] = this.pick<[string, DecayOrigin, number]>([
      ['n', this.below(120) - 10, 1],
      ['deep.likes', 3, 1],
      ['when', { time: START_MS + this.below(400) * DAY_MS }, DAY_MS],
      ['at', this.place(), 1_000],
    ]);
    return {
      type: 'decay',
      path,
      shape: this.pick(DECAY_SHAPES),
      origin,
      scale: this.pick([1, 7, 200]) * unit,
      offset: this.pick([0, 0, 2]) * unit,
      at: this.pick([0.1, 0.5, 0.9]),
      weight: signed,
      missing,
    };
  }

  private day(): string {
    return new Date(START_MS + this.below(365) * DAY_MS).toISOString();
  }

  private place(): { lat: number; lon: number } {
    return { lat: 48 + this.below(100) / 50, lon: 11 + this.below(100) / 50 };
  }
}
