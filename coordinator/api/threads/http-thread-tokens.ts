import { tokenSettings, type TokenVariables } from '../../../shared/base/config/token-settings';
import type { Clock } from '../../../shared/base/time/clock';
import type { IssuerKeys, PublicKey } from '../../service/keys/tokens/issuer-keys';
import { TokenVerifier } from '../../service/keys/tokens/token-verifier';
import type { ThreadHandlers, ThreadPeer } from '../../../shared/base/threads/thread-peer';

/** Checks bearer tokens on an HTTP thread, by the keys that the main thread tells; null where none are taken. */
export function httpThreadTokens(parts: {
  main: Pick<ThreadPeer, 'ask'>;
  config: TokenVariables;
  clock: Clock;
}): TokenVerifier | null {
  const settings = tokenSettings(parts.config);
  return settings === null
    ? null
    : new TokenVerifier({ settings, clock: parts.clock, refresh: () => parts.main.ask('tokens.refresh') });
}

/** What an HTTP thread may ask. The keys that were read are told before the answer. */
export function tokenHandlers(keys: IssuerKeys | null): ThreadHandlers {
  return keys === null ? {} : { 'tokens.refresh': () => keys.refresh() };
}

/** Tells an HTTP thread the issuer's keys, and from now on each change. Answers what ends that. */
export function publishTokenKeys(keys: IssuerKeys | null, peer: Pick<ThreadPeer, 'tell'>): () => void {
  return keys === null
    ? () => undefined
    : keys.follow((known: readonly PublicKey[]) => peer.tell('tokens.keys', known));
}
