import { tokenSettings, type TokenVariables } from '../../../../shared/base/config/token-settings';
import type { Logger } from '../../../../shared/base/logs/logger';
import type { Clock } from '../../../../shared/base/time/clock';
import { FILE_TIMES, ISSUER_TIMES, IssuerKeys, type KeyTimes } from './issuer-keys';
import { keyReader } from './read-keys';
import { TokenVerifier } from './token-verifier';

/** What takes bearer tokens in a process; both null where none are taken. */
export interface OpenTokens {
  keys: IssuerKeys | null;
  /** For requests that the main thread serves itself. */
  verifier: TokenVerifier | null;
  close(): void;
}

/** Begins to read the issuer's keys, and does not wait for them: a service whose issuer is down serves API keys. */
export function openTokens(parts: { config: TokenVariables; clock: Clock; log: Logger; times?: KeyTimes }): OpenTokens {
  const { clock, log } = parts;
  const settings = tokenSettings(parts.config);
  if (settings === null) return { keys: null, verifier: null, close: () => undefined };
  const place =
    settings.keys.type === 'url' ? settings.keys.url : settings.keys.type === 'discovery' ? settings.issuer : '';
  if (place.startsWith('http://'))
    log.warn(
      { place },
      'the keys of the tokens’ issuer come over plain HTTP: whoever can change what is sent there can make tokens',
    );
  const keys = new IssuerKeys({
    read: keyReader(settings.keys),
    times: parts.times ?? (settings.keys.type === 'file' ? FILE_TIMES : ISSUER_TIMES),
    clock,
    log,
  });
  const verifier = new TokenVerifier({ settings, clock, refresh: () => keys.refresh() });
  keys.follow((known) => verifier.useKeys(known));
  keys.start();
  return { keys, verifier, close: () => keys.close() };
}
