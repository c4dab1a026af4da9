/** What one batch did to the slots: enough to know, after a crash, which slots a checkpoint may hold wrongly. */
export interface JournalEntry {
  freedSlots: number[];
  /** Slots that got an item, with its record number. */
  filledSlots: { slot: number; recno: number }[];
}

/** u32 freed count, u32 filled count, u32 slots freed, then (u32 slot, f64 recno) filled. */
export function journalToBytes(entry: JournalEntry): Buffer {
  const { freedSlots, filledSlots } = entry;
  const bytes = Buffer.allocUnsafe(8 + freedSlots.length * 4 + filledSlots.length * 12);
  bytes.writeUInt32LE(freedSlots.length, 0);
  bytes.writeUInt32LE(filledSlots.length, 4);
  let at = 8;
  for (const slot of freedSlots) at = bytes.writeUInt32LE(slot, at);
  for (const { slot, recno } of filledSlots) {
    at = bytes.writeUInt32LE(slot, at);
    at = bytes.writeDoubleLE(recno, at);
  }
  return bytes;
}

/** Throws an Error on bytes of another length than they announce. */
export function journalFromBytes(bytes: Buffer): JournalEntry {
  const freedCount = bytes.readUInt32LE(0);
  const filledCount = bytes.readUInt32LE(4);
  if (bytes.length !== 8 + freedCount * 4 + filledCount * 12) throw new Error('journal entry: wrong length');
  const freedSlots = Array.from({ length: freedCount }, (_, i) => bytes.readUInt32LE(8 + i * 4));
  const from = 8 + freedCount * 4;
  const filledSlots = Array.from({ length: filledCount }, (_, i) => ({
    slot: bytes.readUInt32LE(from + i * 12),
    recno: bytes.readDoubleLE(from + i * 12 + 4),
  }));
  return { freedSlots, filledSlots };
}
