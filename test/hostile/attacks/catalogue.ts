import type { Attack } from '../attack';
import { BODY_ATTACKS } from './bodies';
import { CONNECTION_ATTACKS } from './connections';
import { FILTER_ATTACKS } from './filters';
import { READER_ATTACKS } from './readers';
import { SEARCH_ATTACKS } from './searches';
import { STRANGER_ATTACKS } from './strangers';
import { TEXT_ATTACKS } from './texts';
import { WRITE_ATTACKS } from './writes';

/** Every attack, by which the report is ordered. */
export const ATTACKS: readonly Attack[] = [
  ...TEXT_ATTACKS,
  ...BODY_ATTACKS,
  ...FILTER_ATTACKS,
  ...SEARCH_ATTACKS,
  ...CONNECTION_ATTACKS,
  ...READER_ATTACKS,
  ...WRITE_ATTACKS,
  ...STRANGER_ATTACKS,
];

/** The attacks whose names begin with one of the given words; all of them when none is given. */
export function attacksNamed(beginnings: readonly string[], among: readonly Attack[] = ATTACKS): Attack[] {
  if (beginnings.length === 0) return [...among];
  return among.filter(({ name }) => beginnings.some((beginning) => name.startsWith(beginning)));
}

/** Those that there is a port for: one process has none for members. */
export function attacksOn(isCluster: boolean): Attack[] {
  return ATTACKS.filter(({ door }) => isCluster || door !== 'rpc');
}
