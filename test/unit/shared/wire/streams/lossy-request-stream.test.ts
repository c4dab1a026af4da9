import { LossyRequestStream } from '../../../../../shared/wire/streams/lossy-request-stream';
import type { RpcStream, StreamListener, StreamMethod } from '../../../../../shared/wire/streams/rpc-channel';
import type { RpcChannels } from '../../../../../shared/wire/streams/rpc-channels';

interface Message {
  id: number;
}

const ASK_MS = 250;

/** Channels to a member that is ready after a while and then answers at once. */
class ScriptedChannels {
  opened = 0;
  replaced = 0;
  /** The present stream, as the member sees it. */
  listener: StreamListener<Message> | null = null;
  private isReady = false;
  private waiting: Message[] = [];

  /** `readyMs`: how long connecting and the handshake take; null: for ever. */
  constructor(public readyMs: number | null) {}

  to(): { open: (method: unknown, listener: StreamListener<Message>) => RpcStream<Message> } {
    return { open: (_method, listener) => this.begin(listener) };
  }

  replace(): void {
    this.replaced += 1;
  }

  end(): void {
    this.listener?.ended({ isRefused: false, reason: 'no answer' });
  }

  private begin(listener: StreamListener<Message>): RpcStream<Message> {
    this.opened += 1;
    this.listener = listener;
    this.isReady = false;
    this.waiting = [];
    const answer = (): void =>
      this.waiting.splice(0).forEach((question) => queueMicrotask(() => listener.frame(question)));
    const begun = setTimeout(
      () => {
        this.isReady = true;
        listener.ready({} as never);
        answer();
      },
      this.readyMs ?? 2 ** 31 - 1,
    );
    return {
      write: (question) => {
        this.waiting.push(question);
        if (this.isReady) answer();
      },
      finish: () => undefined,
      cancel: () => clearTimeout(begun),
    };
  }
}

let channels: ScriptedChannels;
let stream: LossyRequestStream<Message, Message>;

function begin(readyMs: number | null): void {
  channels = new ScriptedChannels(readyMs);
  stream = new LossyRequestStream({
    address: 'there:7000',
    method: {} as StreamMethod<Message, Message>,
    channels: channels as unknown as RpcChannels,
  });
}

/** Asks one question, and says what came of it and after how many milliseconds. */
async function ask(): Promise<{ isAnswered: boolean; afterMs: number }> {
  const startMs = performance.now();
  let outcome: { isAnswered: boolean; afterMs: number } | null = null;
  void stream
    .ask({}, ASK_MS)
    .then((answer) => (outcome = { isAnswered: answer !== null, afterMs: performance.now() - startMs }));
  for (let waitedMs = 0; outcome === null && waitedMs <= ASK_MS; waitedMs += 10)
    await jest.advanceTimersByTimeAsync(waitedMs === 0 ? 0 : 10);
  return outcome!;
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  stream.close();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

test('a connection that takes longer to be made than a question waits is made all the same', async () => {
  begin(400);
  expect(await ask()).toEqual({ isAnswered: false, afterMs: ASK_MS });
  await jest.advanceTimersByTimeAsync(50);
  expect(await ask()).toEqual({ isAnswered: false, afterMs: 0 });
  for (let i = 0; i < 5; i += 1) {
    await jest.advanceTimersByTimeAsync(300);
    expect(await ask()).toEqual({ isAnswered: true, afterMs: 0 });
  }
  expect(channels).toMatchObject({ opened: 1, replaced: 0 });
});

test('one that is never ready is replaced after some seconds, and until then only its first question waits', async () => {
  begin(null);
  expect(await ask()).toEqual({ isAnswered: false, afterMs: ASK_MS });
  for (let atMs = 500; atMs < 4_500; atMs += 500) {
    await jest.advanceTimersByTimeAsync(500 - (atMs === 500 ? ASK_MS : 0));
    expect(await ask()).toEqual({ isAnswered: false, afterMs: 0 });
  }
  expect(channels).toMatchObject({ opened: 1, replaced: 0 });
  channels.readyMs = 20;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(await ask()).toEqual({ isAnswered: true, afterMs: 20 });
  expect(channels).toMatchObject({ opened: 2, replaced: 1 });
});

test('questions that wait together while the connection is made are answered together', async () => {
  begin(200);
  const answers = [stream.ask({}, ASK_MS), stream.ask({}, ASK_MS)];
  await jest.advanceTimersByTimeAsync(200);
  expect((await Promise.all(answers)).map((answer) => answer?.id)).toEqual([1, 2]);
});

test('the channel is replaced when the handshake had no answer in its time, and not when the member could not be reached', async () => {
  begin(null);
  await ask();
  channels.end();
  expect(await ask()).toEqual({ isAnswered: false, afterMs: 0 });
  await jest.advanceTimersByTimeAsync(250);
  expect(channels).toMatchObject({ opened: 1, replaced: 0 });
  await ask();
  await jest.advanceTimersByTimeAsync(4_750);
  channels.end();
  expect(channels).toMatchObject({ opened: 2, replaced: 1 });
});
