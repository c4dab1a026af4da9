// `npm start`: sets up what is missing, then becomes the service in this very process.
// libuv reads the size of its thread pool once, at its first use, so it is chosen before anything else happens.
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ROOT, setUpOrExit } from './setup.mjs';

process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 4);
await setUpOrExit();
createRequire(import.meta.url)(join(ROOT, 'dist', 'coordinator', 'embedded.js'));
