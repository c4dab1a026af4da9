import { apiError, BadAnswerError, TimeoutError } from '../../../../../clients/typescript/src/errors';
import { DEFAULT_RETRY_POLICY as policy, retryDelayMs } from '../../../../../clients/typescript/src/retry';

const limited = (retryAfterMs: number | null) =>
  apiError('later', { code: 429, requestId: null, retryAfterMs, method: 'GET', path: '/', attempts: 1 });
const delays = (error: unknown, chance: number) =>
  Array.from({ length: policy.retries + 1 }, (_, attempt) =>
    retryDelayMs(error, { policy, attempt, isRepeatable: true, chance }),
  );

test('pauses double from half to all of the first one, up to the longest', () => {
  expect(delays(new TimeoutError('late'), 0)).toEqual([100, 200, 400, 800, 1600, null]);
  expect(delays(new TimeoutError('late'), 1)).toEqual([200, 400, 800, 1600, 3200, null]);
  expect(
    retryDelayMs(new TimeoutError('late'), {
      policy: { ...policy, retries: 50 },
      attempt: 40,
      isRepeatable: true,
      chance: 1,
    }),
  ).toBe(policy.delayMaxMs);
});

test('a service that says when is asked then, and a little later by chance', () => {
  expect(delays(limited(30_000), 0)).toEqual([30_000, 30_000, 30_000, 30_000, 30_000, null]);
  expect(delays(limited(30_000), 1)[0]).toBe(30_200);
  expect(delays(new BadAnswerError('busy', { httpStatus: 503, retryAfterMs: 5000 }), 0)[0]).toBe(5000);
});

test('who asks for too long a pause is not asked again', () => {
  expect(delays(limited(policy.retryAfterMaxMs + 1), 0)[0]).toBeNull();
});

test('errors of the program itself are not repeated', () => {
  expect(delays(new TypeError('a mistake'), 0)[0]).toBeNull();
});
