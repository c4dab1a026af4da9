import { contextFromHeaders, traceparentOf } from '../../../../../shared/base/trace/trace-context';
import { traceSettings } from '../../../../../shared/base/trace/trace-settings';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('the context of a trace', () => {
  test('is read from a header, and written as one', () => {
    const context = contextFromHeaders(`00-${TRACE}-${SPAN}-01`, 'vendor=1');
    expect(context).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true, state: 'vendor=1' });
    expect(traceparentOf(context!)).toBe(`00-${TRACE}-${SPAN}-01`);
    expect(traceparentOf(contextFromHeaders(`00-${TRACE}-${SPAN}-00`)!)).toBe(`00-${TRACE}-${SPAN}-00`);
  });

  test('of a later version is read as far as it is known', () => {
    expect(contextFromHeaders(`cc-${TRACE}-${SPAN}-03-more`)).toMatchObject({ traceId: TRACE, isSampled: true });
  });

  test.each([
    undefined,
    '',
    'x',
    [`00-${TRACE}-${SPAN}-01`],
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
  ])('is not %p', (header) => {
    expect(contextFromHeaders(header)).toBeNull();
  });

  test('leaves out a state that is too long or not printable', () => {
    for (const state of ['a='.padEnd(600, 'x'), 'a=\u0001', ['a=1']])
      expect(contextFromHeaders(`00-${TRACE}-${SPAN}-01`, state)?.state).toBe('');
  });
});

describe('the settings of traces', () => {
  const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

  test.each([
    [{}, null],
    [ENDPOINT, 'http/protobuf'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, 'http/protobuf'],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, null],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, null],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, 'http/json'],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
      'http/json',
    ],
  ])('%p: by %p', (environment, protocol) => {
    expect(traceSettings(environment)).toMatchObject({ protocol, warning: null });
  });

  test('what the platform asks for and is not for us is told, and nothing is sent', () => {
    expect(traceSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toMatchObject({
      protocol: null,
      warning: expect.stringContaining('http/protobuf'),
    });
    expect(traceSettings({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'jaeger' })).toMatchObject({
      protocol: null,
      warning: expect.stringContaining('jaeger'),
    });
  });

  test('spans that wait are bounded, whatever is set', () => {
    expect(traceSettings({ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: '7' }).waitingMax).toBe(7);
    for (const wrong of ['0', '-1', 'x', '1.5'])
      expect(traceSettings({ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: wrong }).waitingMax).toBe(2048);
  });
});
