import type { PatchOperation, UpsertOperation } from '../../../shared/contract/shard/shard-client';

/**
 * About what an operation stores. An item is stored again as a whole, so the vector of a patch counts, whether it is a
 * new one or not. `found`: the metadata that the patch is merged into, as far as they are known.
 */
export function storedBytesOf(
  { externalId, metadata, text }: Pick<UpsertOperation | PatchOperation, 'externalId' | 'metadata' | 'text'>,
  dim: number,
  found = '',
): number {
  const json = typeof metadata === 'string' ? metadata : metadata?.json;
  return (
    Buffer.byteLength(externalId) +
    dim * Float32Array.BYTES_PER_ELEMENT +
    Buffer.byteLength(found) +
    Buffer.byteLength(json ?? '') +
    Buffer.byteLength(text ?? '')
  );
}
