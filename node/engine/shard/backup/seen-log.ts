import { contentOf, sealedText } from '../../../../shared/backup-store/backup-format';
import { LOG_SESSIONS } from '../../../../shared/backup-store/content-schemas';
import type { KeyValueEntry } from '../../kv/key-value-store';
import { STAGE_KEY, isSessionKey, LOGGED_KEY, REPLICA_POSITION_KEY } from '../../records/record-keys';
import { positionOfLogged } from './own-log';

/** What a view of a shard's store tells of its place in its log. */
export class SeenLog {
  place: { sequence: number; epoch: number } | null = null;
  gate: string | null = null;
  readonly sessions: KeyValueEntry[] = [];

  constructor(private readonly of: 'replica' | 'own' | undefined) {}

  look(key: Buffer, value: Buffer): void {
    if (this.of === undefined) return;
    if (key.equals(STAGE_KEY)) this.gate = value.toString('base64');
    else if (this.of === 'own') {
      if (key.equals(LOGGED_KEY)) this.place = positionOfLogged(value);
    } else if (key.equals(REPLICA_POSITION_KEY))
      this.place = { sequence: value.readDoubleLE(0), epoch: value.readDoubleLE(8) };
    else if (isSessionKey(key)) this.sessions.push({ key: Buffer.from(key), value: Buffer.from(value) });
  }
}

export function sessionsToBytes(entries: readonly KeyValueEntry[]): Buffer {
  return sealedText(entries.map(({ key, value }) => [key.toString('base64'), value.toString('base64')]));
}

export function sessionsFromBytes(name: string, bytes: Buffer): KeyValueEntry[] {
  return contentOf(LOG_SESSIONS, name, bytes).map(([key, value]) => ({
    key: Buffer.from(key, 'base64'),
    value: Buffer.from(value, 'base64'),
  }));
}
