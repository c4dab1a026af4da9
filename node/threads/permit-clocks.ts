import { sharedMs } from '../../shared/time/shared-clock';
import { bootTimeMs } from '../kv/boot-time';
import type { PermitClocks } from '../replication/read-permit';

/** Those of the machine. */
export const permitClocks: PermitClocks = { monotonicMs: sharedMs, bootMs: bootTimeMs };
