import type { NodeReport } from '../../shared/cluster/node-report';
import { administrationDefinition, type WireReport } from '../../shared/rpc/administration';
import { QuestionStream } from '../../shared/rpc/question-stream';
import type { RpcChannels } from '../../shared/rpc/rpc-channels';

/** A node that takes longer is shown without what only it knows. */
const TIMEOUT_MS = 2_000;

/** Asks nodes for their reports. */
export class NodeReports {
  private readonly channels: RpcChannels;
  private readonly streams = new Map<string, QuestionStream<{ id: number }, WireReport>>();

  constructor(options: { channels: RpcChannels }) {
    this.channels = options.channels;
  }

  /** null when the node does not answer in time. */
  async ask(address: string): Promise<NodeReport | null> {
    let stream = this.streams.get(address);
    if (stream === undefined) {
      stream = new QuestionStream({ address, method: administrationDefinition.Exchange as never, channels: this.channels });
      this.streams.set(address, stream);
    }
    const answer = await stream.ask({}, TIMEOUT_MS);
    if (answer === null || answer.report === null) return null;
    return { shards: answer.report.shards.map(({ leads, ...rest }) => ({ ...rest, role: leads ? 'primary' : 'follower' })) };
  }

  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.streams.clear();
  }
}
