import { type ClusterCredentials, RpcChannel } from './rpc-channel';

/**
 * One channel per address, kept for the life of this object: one that could not connect tries again, later each time,
 * whoever asks.
 */
export class RpcChannels {
  private readonly credentials: ClusterCredentials;
  private readonly keepaliveMs: number | undefined;
  private readonly channels = new Map<string, RpcChannel>();

  /** `keepaliveMs`: as RpcChannel says. */
  constructor(options: { credentials: ClusterCredentials; keepaliveMs?: number }) {
    this.credentials = options.credentials;
    this.keepaliveMs = options.keepaliveMs;
  }

  to(address: string): RpcChannel {
    return this.channels.get(address) ?? this.begin(address);
  }

  /** Closes a connection on which nothing becomes ready and nothing ends. Its streams must have been cancelled. */
  replace(address: string): void {
    const channel = this.channels.get(address);
    if (channel === undefined) return;
    channel.close();
    this.begin(address);
  }

  /** All streams must have ended or been cancelled. */
  close(): void {
    for (const channel of this.channels.values()) channel.close();
    this.channels.clear();
  }

  private begin(address: string): RpcChannel {
    const channel = new RpcChannel({ address, credentials: this.credentials, keepaliveMs: this.keepaliveMs });
    this.channels.set(address, channel);
    return channel;
  }
}
