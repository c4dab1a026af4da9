/**
 * The memory that one answer holds, from when its parts are read until the system has taken them. Whoever reads for an
 * answer says beforehand how much that will be, and afterwards how much it was.
 */
export interface AnswerHold {
  /** The most that one item has, in bytes: of its id and metadata, with or without its text, without its vector. */
  itemBytesMax(texts: boolean): number;
  /**
   * From now on, what is read holds so many bytes. Resolves when there is room for them; undefined: there is. Errors:
   * overloaded when there is none in time; ClientGone.
   */
  reserve(bytes: number): Promise<void> | undefined;
  /** As {@link reserve}, of what is held besides: a text that is made of all that is read. */
  reserveText(bytes: number): Promise<void> | undefined;
  /** The same of what was read: it is there, room or not. */
  keep(bytes: number): void;
  /** Whether {@link reserve} would not have to wait. */
  hasRoom(bytes: number): boolean;
}

/** Of an answer that nobody counts: what is read for the service itself. */
export const NO_HOLD: AnswerHold = {
  itemBytesMax: () => 0,
  reserve: () => undefined,
  reserveText: () => undefined,
  keep: () => undefined,
  hasRoom: () => true,
};

/** Of what is read for an answer whose parts its caller has counted. */
export function countedElsewhere(hold: AnswerHold): AnswerHold {
  return { ...NO_HOLD, itemBytesMax: (texts) => hold.itemBytesMax(texts) };
}
