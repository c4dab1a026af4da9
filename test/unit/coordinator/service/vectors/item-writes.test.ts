import { systemClock } from '../../../../../shared/base/time/clock';
import { NO_VERSION } from '../../../../../shared/contract/shard/shard-client';
import type { ReadKind, RequestOf } from '../../../../../shared/contract/shard/shard-read';
import { readRequestBytes } from '../../../../../shared/wire/codecs/read-messages';
import { ENTRY_BYTES_MAX } from '../../../../../shared/wire/streams/message-bounds';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import { newCollection, plainService } from '../../../../support/shards/plain-service';

test('a write with conditions on many items asks for them in requests that a node takes', async () => {
  const shards = new PlainShardClient({ clock: systemClock, dated: true });
  const asked: number[] = [];
  const read = shards.read.bind(shards) as typeof shards.read;
  shards.read = <Kind extends ReadKind>(...args: [any, Kind, RequestOf<Kind>, any]) => {
    asked.push(readRequestBytes(args[1], args[2]));
    return read(...args);
  };
  const { service } = await plainService({ shards });
  await service.collections.create(newCollection('c', { dim: 2 }));
  const { identity } = await service.catalog.find('c');
  // The longest ids that there may be.
  const idOf = (i: number): string => `${String(i).padStart(6, '0')}${'文'.repeat(506)}`;
  const puts = Array.from({ length: 4_500 }, (_, i) => ({
    externalId: idOf(i),
    source: { vector: Float32Array.of(1, i) },
    metadata: undefined,
    text: undefined,
    expected: NO_VERSION,
  }));
  await service.vectors.exchange('c', { identity, puts, gone: [] });
  expect(asked.length).toBeGreaterThan(1);
  expect(Math.max(...asked)).toBeLessThanOrEqual(ENTRY_BYTES_MAX);
  // What is not as expected is found in any of them.
  await expect(
    service.vectors.exchange('c', { identity, puts: [], gone: [{ externalId: idOf(4_499), expected: 1 }] }),
  ).rejects.toMatchObject({ kind: 'conflict' });
  await expect(service.vectors.exchange('c', { identity, puts, gone: [] })).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining('4499 more; nothing was written'),
  });
  service.close();
});
