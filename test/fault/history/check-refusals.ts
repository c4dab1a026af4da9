import { describeOperation, type Operation } from './operation';
import type { Violation } from './violation';

/** What a member says of a feature that it does not know the others to have. */
const REFUSAL = /of an earlier version|nobody noted/;

/**
 * Where all members are of one version, none is refused what needs that: whoever is away, and whoever started
 * meanwhile.
 */
export function checkRefusals(operations: readonly Operation[]): Violation[] {
  return operations
    .filter(({ message }) => message !== null && REFUSAL.test(message))
    .map((operation) => ({
      rule: 'versions: refused',
      sentence: `${describeOperation(operation)} was refused: ${operation.message}`,
      operations: [operation],
    }));
}
