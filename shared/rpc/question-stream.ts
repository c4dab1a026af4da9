import type { RpcStream, StreamMethod } from './rpc-channel';
import type { RpcChannels } from './rpc-channels';
import { NumberTable } from '../tables/number-table';

/** A member that could not be reached is not tried again before this, so that questions to it fail at once. */
const RETRY_MS = 250;

/** A message with the number of its question. */
interface Numbered {
  id: number;
}

interface Open<Answer> {
  settle: (answer: Answer | null) => void;
  timer: NodeJS.Timeout;
}

/**
 * Questions to another member over one long-lived stream; answers come in any order. The answer is null if the member
 * can't be reached in time. For small messages that may be lost.
 */
export class QuestionStream<Question extends Numbered, Answer extends Numbered> {
  private readonly address: string;
  private readonly method: StreamMethod<Question, Answer>;
  private readonly channels: RpcChannels;
  private readonly open = new NumberTable<Open<Answer>>();
  private connection: { stream: RpcStream<Question>; isReady: boolean } | null = null;
  private brokeAtMs = -Infinity;
  private closed = false;

  constructor(options: { address: string; method: StreamMethod<Question, Answer>; channels: RpcChannels }) {
    this.address = options.address;
    this.method = options.method;
    this.channels = options.channels;
  }

  /** The answer, or null when there is none within `timeoutMs`. */
  ask(question: Omit<Question, 'id'>, timeoutMs: number): Promise<Answer | null> {
    const connection = this.connected();
    if (connection === null) return Promise.resolve(null);
    return new Promise((settle) => {
      const timer = setTimeout(() => {
        this.open.remove(id);
        settle(null);
        // The other side accepted the connection and stays silent.
        if (this.connection === connection && !connection.isReady) {
          this.disconnect();
          this.channels.replace(this.address);
        }
      }, timeoutMs);
      const id = this.open.add({ settle, timer });
      connection.stream.write({ ...question, id } as Question, () => undefined);
    });
  }

  close(): void {
    this.closed = true;
    this.disconnect();
  }

  private connected(): { stream: RpcStream<Question>; isReady: boolean } | null {
    if (this.connection !== null) return this.connection;
    if (this.closed || performance.now() - this.brokeAtMs < RETRY_MS) return null;
    const connection = {
      isReady: false,
      stream: this.channels.to(this.address).open<Question, Answer>(this.method, {
        ready: () => (connection.isReady = true),
        frame: (answer) => {
          const found = this.open.remove(answer.id);
          if (found === undefined) return;
          clearTimeout(found.timer);
          found.settle(answer);
        },
        ended: () => {
          if (this.connection === connection) this.disconnect();
        },
      }),
    };
    this.connection = connection;
    return connection;
  }

  private disconnect(): void {
    const { connection } = this;
    this.connection = null;
    this.brokeAtMs = performance.now();
    connection?.stream.cancel();
    for (const { settle, timer } of this.open.removeAll()) {
      clearTimeout(timer);
      settle(null);
    }
  }
}
