import type { Operation } from './operation';

/** A promise that a history shows to be broken. */
export interface Violation {
  /** Name of the check and of what was found, such as "export: out of order". */
  rule: string;
  /** One sentence with the operations involved. */
  sentence: string;
  operations: Operation[];
}
