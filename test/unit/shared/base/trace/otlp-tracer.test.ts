import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { openTracer } from '../../../../../shared/base/trace/open-tracer';
import type { TraceCounts } from '../../../../../shared/base/trace/span';
import { contextFromHeaders } from '../../../../../shared/base/trace/trace-context';
import { eventually } from '../../../../support/eventually';
import { TraceReceiver } from '../../../../support/servers/trace-receiver';

/** What becomes of spans (shared/base/trace/otlp-tracer.ts), also when whoever is to take them does not. */

const support = resolve(__dirname, '../../../../support');
let receiver: TraceReceiver;
let writer: ChildProcess | null = null;

beforeEach(async () => {
  receiver = await TraceReceiver.start();
});
afterEach(() => {
  writer?.kill('SIGKILL');
  writer = null;
  receiver.close();
});

/** A process that writes pairs of spans on request, and says what became of them. */
function start(
  environment: Record<string, string> = {},
): (message: number | 'look' | 'close') => Promise<{ counts: TraceCounts; warnings: string[]; ms: number }> {
  const child = fork(resolve(support, 'cluster/span-writer.ts'), {
    execArgv: ['-r', resolve(support, 'swc-register.js')],
    env: { PATH: process.env.PATH, ...receiver.environment, ...environment },
  });
  writer = child;
  return async (message) => {
    child.send(message);
    const [answer] = await once(child, 'message');
    return answer;
  };
}

test('a span arrives with its parent, times, attributes and resource', async () => {
  const write = start({
    OTEL_SERVICE_NAME: 'ours',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-token=t',
  });
  await write(1);
  await eventually('both are there', () => receiver.spans.length === 2);
  const [step, whole] = receiver.spans;
  expect(whole).toMatchObject({
    name: 'POST /x',
    kind: 'server',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    parent: '00f067aa0ba902b7',
    hasFailed: true,
  });
  expect(whole.attributes).toEqual({ a: 1, 'error.type': 'unavailable' });
  expect(whole.resource).toMatchObject({
    'service.name': 'ours',
    'deployment.environment.name': 'test',
    'quiver.member': 'node-7',
    'service.instance.id': 'i',
  });
  expect(step).toMatchObject({ name: 'step', kind: 'internal', parent: whole.spanId, hasFailed: false });
  expect(step.endMs - step.startMs).toBeCloseTo(30, 1);
  expect(Math.abs(whole.startMs - Date.now())).toBeLessThan(60_000);
  expect(receiver.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'x-token': 't', 'content-type': 'application/x-protobuf' },
  });
  await eventually('they are counted', async () => (await write('look')).counts.exported === 2);
});

test('while nobody answers, spans beyond the bound are dropped and counted, and the end does not wait', async () => {
  receiver.mode = 'hang';
  const write = start({
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
    OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    OTEL_BSP_EXPORT_TIMEOUT: '600000',
  });
  await write(12);
  await eventually('a batch is under way', () => receiver.requests.length > 0);
  expect((await write(3)).counts).toEqual({ exported: 0, failed: 0, dropped: 20, waiting: 10 });
  expect((await write('close')).ms).toBeLessThan(60_000);
});

test('what is refused is counted, told once, and makes room', async () => {
  receiver.mode = 'refuse';
  const write = start({ OTEL_BSP_MAX_QUEUE_SIZE: '4', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
  for (let round = 1; round <= 2; round += 1) {
    await write(2);
    await eventually('they are refused', async () => (await write('look')).counts.failed === 4 * round);
  }
  const { counts, warnings } = await write('look');
  expect(counts).toEqual({ exported: 0, failed: 8, dropped: 0, waiting: 0 });
  expect(warnings).toEqual([expect.stringContaining('could not be sent')]);
  expect(receiver.requests[0].headers['content-type']).toBe('application/json');
});

test.each(['hang', 'drip', 'flood', 'garbage'] as const)(
  'a receiver in the mode "%s" costs the spans that it got, and others arrive when it is well',
  async (mode) => {
    receiver.mode = mode;
    const write = start({
      OTEL_BSP_MAX_QUEUE_SIZE: '4',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      OTEL_BSP_EXPORT_TIMEOUT: '100',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
    await write(2);
    await eventually('they are given up', async () => (await write('look')).counts.failed === 4);
    receiver.mode = 'take';
    await write(2);
    await eventually('others arrive', async () => (await write('look')).counts.exported === 4);
    expect((await write('look')).counts).toEqual({ exported: 4, failed: 4, dropped: 0, waiting: 0 });
  },
);

test.each([
  ['always_off', null, false],
  ['traceidratio', null, false],
  ['parentbased_always_off', '01', true],
  ['parentbased_always_on', '00', false],
  ['always_on', '00', true],
])('the sampler %s, with a caller’s flags %s', async (sampler, flags, isRecorded) => {
  const before = { ...process.env };
  Object.assign(process.env, { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0' });
  const origin = {
    role: 'node',
    member: 'node-7',
    instanceId: 'i',
    version: '1',
    protocol: 'http/protobuf',
    waitingMax: 10,
    timeoutMs: 10_000,
    warning: null,
    variables: {},
  } as const;
  const tracer = openTracer({ origin, clock: systemClock, log: silentLogger });
  process.env = before;
  const parent =
    flags === null ? null : contextFromHeaders(`00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`);
  expect(tracer.begin('x', parent) !== null).toBe(isRecorded);
  await tracer.close();
});
