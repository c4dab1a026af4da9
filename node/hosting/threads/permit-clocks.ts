import { sharedMs } from '../../../shared/base/time/shared-clock';
import { bootTimeMs } from '../../engine/kv/boot-time';
import type { PermitClocks } from '../../replication/read-permit';

/** Those of the machine. */
export const permitClocks: PermitClocks = { monotonicMs: sharedMs, bootMs: bootTimeMs };
