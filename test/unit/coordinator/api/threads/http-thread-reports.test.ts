import { HttpLoad } from '../../../../../coordinator/api/load/http-load';
import type { AnsweredRequest } from '../../../../../coordinator/api/http/observer';
import {
  type HttpThreadReport,
  HttpThreadReportReader,
  HttpThreadReports,
} from '../../../../../coordinator/api/threads/http-thread-reports';

const READ = '/v1/collections/{name}/search';

function request(given: Partial<AnsweredRequest> = {}): AnsweredRequest {
  return {
    requestId: 'r',
    method: 'POST',
    endpoint: READ,
    url: '/v1/collections/c/search',
    code: 200,
    durationMs: 1.5,
    keyId: 1,
    keyName: null,
    address: null,
    access: null,
    collection: null,
    target: null,
    isAdministrative: false,
    steps: null,
    error: null,
    ...given,
  };
}

function reporting(
  rule: { logRequests: 'notable' | 'all'; logSlowMs: number } = { logRequests: 'notable', logSlowMs: 1000 },
) {
  const sent: HttpThreadReport[] = [];
  const notable: AnsweredRequest[] = [];
  const load = new HttpLoad();
  const nodeCalls = { open: 0, queuedBytes: 0 };
  const reports = new HttpThreadReports({
    rule: { ...rule, auditLog: '', auditReads: 'false' },
    clock: { wallMs: () => 77, monotonicMs: () => 0 },
    load,
    nodeCalls: () => nodeCalls,
    send: (report) => sent.push(structuredClone(report)),
    notable: (facts) => notable.push(facts),
  });
  const read: unknown[] = [];
  const reader = new HttpThreadReportReader({
    request: (...facts) => read.push(['request', ...facts]),
    phase: (...facts) => read.push(['phase', ...facts]),
    use: (...facts) => read.push(['use', ...facts]),
    repetition: () => read.push(['repetition']),
  });
  const all = (): unknown[] => {
    reports.close();
    for (const report of sent) reader.read(report);
    return read;
  };
  return { reports, sent, notable, load, nodeCalls, all };
}

test('what a thread counts arrives in order, over several reports', () => {
  const { reports, load, nodeCalls, sent, all } = reporting();
  reports.record(3, `POST ${READ}`);
  reports.requestAnswered(request({ steps: { parseMs: 0.25, serialiseMs: 0.5 } }));
  load.requests = 2;
  Object.assign(nodeCalls, { open: 3, queuedBytes: 40 });
  load.refused = 1;
  reports.flush();
  reports.phase('node', 4);
  reports.requestAnswered(request({ endpoint: '/v1/health' }));
  reports.requestAnswered(request({ code: 204, isReplayed: true }));
  expect(all()).toEqual([
    ['use', 3, `POST ${READ}`, 77],
    ['request', READ, 200, 1.5],
    ['phase', 'parse', 0.25],
    ['phase', 'serialise', 0.5],
    ['phase', 'node', 4],
    ['request', '/v1/health', 200, 1.5],
    ['request', READ, 204, 1.5],
    ['repetition'],
  ]);
  expect(sent[0].load).toEqual({ requests: 2, bodyBytes: 0, answerBytes: 0, refused: 1, nodeCalls: 3, nodeBytes: 40 });
  // A name goes over once.
  expect(sent.flatMap(({ names }) => names)).toEqual([`POST ${READ}`, READ, '/v1/health']);
});

test.each([
  ['failed', request({ code: 404 })],
  ['slow', request({ durationMs: 1000 })],
  ['administrative', request({ isAdministrative: true })],
])('a request that is %s is told whole, and counted there', (_what, facts) => {
  const { reports, notable, all } = reporting();
  reports.requestAnswered(facts);
  expect(notable).toEqual([facts]);
  expect(all()).toEqual([]);
});

test('with LOG_REQUESTS=all every request is told', () => {
  const { reports, notable, all } = reporting({ logRequests: 'all', logSlowMs: 1000 });
  reports.requestAnswered(request());
  expect(notable).toHaveLength(1);
  expect(all()).toEqual([]);
});

test('many counts are sent before their time', () => {
  const { reports, sent, all } = reporting();
  for (let i = 0; i < 2_000; i += 1) reports.requestAnswered(request());
  expect(sent.length).toBeGreaterThan(0);
  expect(all()).toHaveLength(2_000);
});
