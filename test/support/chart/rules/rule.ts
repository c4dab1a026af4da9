import type { Manifest } from '../manifest';

/** What must hold of all objects of a release together. */
export interface Rule {
  name: string;
  /** One line for each place where it does not hold. */
  violations(objects: readonly Manifest[]): string[];
}
