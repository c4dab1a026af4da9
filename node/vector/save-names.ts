/**
 * Names of the files that a native vector index keeps in its folder. A save's name says which originals it belongs to,
 * so that a name is all it takes to open it and to know what may be deleted.
 */
export function saveName(number: number, originals: number): string {
  return `save-${number}-${originals}.index`;
}

export function originalsName(number: number): string {
  return `originals-${number}.f32`;
}

/** The numbers in a save's name, null if it is not one. */
export function parseSaveName(name: string): { number: number; originals: number } | null {
  const match = /^save-(\d+)-(\d+)\.index$/.exec(name);
  return match === null ? null : { number: Number(match[1]), originals: Number(match[2]) };
}

/** N of a path to `originals-N.f32`, null if it is not one. */
export function parseOriginalsName(path: string): number | null {
  const match = /(?:^|\/)originals-(\d+)\.f32$/.exec(path);
  return match === null ? null : Number(match[1]);
}
