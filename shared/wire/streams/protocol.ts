import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { packageRoot } from '../../base/process/package-root';
import type { ReadsDefinition } from '../generated/quiver/v1/reads';
import type { WritesDefinition } from '../generated/quiver/v1/writes';

/** How messages become objects. scripts/make/generate-rpc.mjs makes the types in shared/wire/generated to match. */
const FORM = { longs: Number, defaults: true, oneofs: true, includeDirs: [join(packageRoot(__dirname), 'proto')] };

/** The definition of one service: `file` is relative to proto/, `service` its full name. */
export function loadService<Definition extends ServiceDefinition>(file: string, service: string): Definition {
  return loadSync(file, FORM)[service] as unknown as Definition;
}

export const readsDefinition = loadService<ReadsDefinition>('quiver/v1/reads.proto', 'quiver.v1.Reads');
export const writesDefinition = loadService<WritesDefinition>('quiver/v1/writes.proto', 'quiver.v1.Writes');
