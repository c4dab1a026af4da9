import { silentLogger } from '../../../shared/base/logs/logger';
import { systemClock } from '../../../shared/base/time/clock';
import { openTracer } from '../../../shared/base/trace/open-tracer';
import { contextFromHeaders } from '../../../shared/base/trace/trace-context';
import { traceOrigin } from '../../../shared/base/trace/trace-origin';

/**
 * A process that sends traces, for tests of what becomes of them: OpenTelemetry's packages load a part of theirs by an
 * import(), which Jest's modules don't have. A message of a number writes so many spans; each message is answered by
 * what there is.
 */

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const warnings: string[] = [];
const log = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
const origin = traceOrigin(process.env, { role: 'node', member: 'node-7', instanceId: 'i', version: '1' }, log);
const tracer = openTracer({ origin: origin!, clock: systemClock, log });

process.on('message', (message: number | 'look' | 'close') => void answer(message));

async function answer(message: number | 'look' | 'close'): Promise<void> {
  const startMs = performance.now();
  for (let i = 0; typeof message === 'number' && i < message; i += 1) write();
  if (message === 'close') await tracer.close();
  process.send!({ counts: tracer.counts, warnings, ms: performance.now() - startMs });
  if (message === 'close') process.exit(0);
}

function write(): void {
  const nowMs = systemClock.monotonicMs();
  const span = tracer.begin('POST /x', contextFromHeaders(PARENT, 'vendor=1'), {
    kind: 'server',
    startMs: nowMs - 50,
    attributes: { a: 1, b: undefined },
  });
  span?.child('step', { startMs: nowMs - 40 }).end(nowMs - 10);
  span?.fail('unavailable');
  span?.end();
}
