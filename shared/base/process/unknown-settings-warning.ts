import { describeUnknown, unknownSettings } from '../config/unknown-settings';
import type { Logger } from '../logs/logger';

/** Tells the log of each variable that was most likely meant for this program, and that it does not know. */
export function warnOfUnknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  log: Pick<Logger, 'warn'>,
): void {
  for (const unknown of unknownSettings(environment))
    log.warn({ setting: unknown.name, nearest: unknown.nearest }, describeUnknown(unknown));
}
