import { REGISTER_BITS } from './aggregate';

/** Notes a value, by the first 8 bytes of its hash. */
export function noteHash(registers: Uint8Array, hash: Uint8Array): void {
  const view = new DataView(hash.buffer, hash.byteOffset, hash.byteLength);
  const [low, high] = [view.getUint32(0, true), view.getUint32(4, true)];
  const at = high >>> (32 - REGISTER_BITS);
  const upper = (high << REGISTER_BITS) >>> 0;
  const rest = (upper | (low >>> (32 - REGISTER_BITS))) >>> 0;
  const last = (low << REGISTER_BITS) >>> 0;
  const rank = rest === 0 ? (last === 0 ? 64 - REGISTER_BITS + 1 : 32 + Math.clz32(last) + 1) : Math.clz32(rest) + 1;
  registers[at] = Math.max(registers[at], rank);
}
