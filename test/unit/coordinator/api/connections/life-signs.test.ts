import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { LifeSigns } from '../../../../../coordinator/api/connections/life-signs';
import { ListenerGuard } from '../../../../../shared/base/process/listener-guard';

const PACE = { stallTimeoutMs: 3_000, stallBytesPerSecond: 100 };
const guard = new ListenerGuard((error) => {
  throw error;
});

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A connection that is watched: `line` says what its client has taken, `answer` answers the last PING. */
function watched() {
  const line = { bytesWritten: 1_000_000, writeQueueSize: 900_000 };
  const session = {
    destroyed: false,
    answer: (): void => undefined,
    ping: (answer: () => void): boolean => {
      session.answer = answer;
      return true;
    },
    destroy: () => void (session.destroyed = true),
  };
  const signs = new LifeSigns({ pace: PACE, guard });
  signs.begin(
    session as unknown as ServerHttp2Session,
    { destroyed: false, bytesWritten: 1_000_000, _handle: line } as unknown as Socket,
  );
  return { line, session };
}

function pass(seconds: number): void {
  jest.advanceTimersByTime(seconds * 1_000);
}

test('whoever takes as much as a client must stays, though it has not come to the question yet', () => {
  const { line, session } = watched();
  for (let second = 0; second < 60; second += 1) {
    line.writeQueueSize -= 100;
    pass(1);
  }
  expect(session.destroyed).toBe(false);
  // And whoever has answered need not take anything.
  for (let second = 0; second < 60; second += 1) {
    session.answer();
    pass(1);
  }
  expect(session.destroyed).toBe(false);
});

test('whoever neither answers nor takes that much is cut', () => {
  const { line, session } = watched();
  pass(1);
  for (let second = 0; second < 3; second += 1) {
    expect(session.destroyed).toBe(false);
    line.writeQueueSize -= 99;
    pass(1);
  }
  expect(session.destroyed).toBe(true);
});
