import { type ClusterCredentials, RpcChannel } from './rpc-channel';

/**
 * One channel per address, kept for as long as this lives: grpc-js goes on connecting once more after a channel is
 * closed that could not connect, and what it then connects belongs to nobody, so such a channel is used again instead.
 */
export class RpcChannels {
  private readonly credentials: ClusterCredentials;
  private readonly channels = new Map<string, RpcChannel>();

  constructor(options: { credentials: ClusterCredentials }) {
    this.credentials = options.credentials;
  }

  to(address: string): RpcChannel {
    let channel = this.channels.get(address);
    if (channel === undefined) {
      channel = new RpcChannel({ address, credentials: this.credentials });
      this.channels.set(address, channel);
    }
    return channel;
  }

  /** Gives up a connection on which nothing becomes ready and nothing ends; its streams must have been cancelled. */
  replace(address: string): void {
    this.channels.get(address)?.close();
    this.channels.delete(address);
  }

  /** Streams must have been ended or cancelled. */
  close(): void {
    for (const channel of this.channels.values()) channel.close();
    this.channels.clear();
  }
}
