import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const fromRoot = createRequire(join(fileURLToPath(new URL('../..', import.meta.url)), 'package.json'));
/** Texts of one call of the model, and calls at once. */
const TEXTS_OF_CALL = 64;
const CALLS_AT_ONCE = 4;

/** The model of a folder in this process, as the service has it, without a service. */
export async function openModel(name, threads) {
  const { transformersLoader } = fromRoot('./dist/coordinator/models/transformers/transformers-loader.js');
  const { systemClock } = fromRoot('./dist/shared/base/time/clock.js');
  const log = () => undefined;
  return transformersLoader({
    dtype: 'auto',
    cacheDir: '',
    isOffline: true,
    hub: 'http://127.0.0.1:9',
    threads,
    timeoutMs: 3_600_000,
    clock: systemClock,
    log: { info: log, warn: log, error: log },
  })(name);
}

/** How long it takes for texts when nothing else is done: seconds, also of processors. */
export async function embedAlone(model, texts) {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const calls = [];
  for (let at = 0; at < texts.length; at += TEXTS_OF_CALL) calls.push(texts.slice(at, at + TEXTS_OF_CALL));
  const work = async () => {
    for (let call = calls.shift(); call !== undefined; call = calls.shift())
      await model.embed(call, { dim: model.dim, kind: 'passage' });
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
  const { user, system } = process.cpuUsage(cpu);
  return { texts: texts.length, seconds: (performance.now() - startedAt) / 1000, cpuSeconds: (user + system) / 1e6 };
}
