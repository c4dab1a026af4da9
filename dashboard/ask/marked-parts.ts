/** A text before a place, in it, and behind it; without a place, all is before. */
export function partsOf(text: string, place: { start: number; end: number } | null): [string, string, string] {
  if (place === null) return [text, '', ''];
  return [text.slice(0, place.start), text.slice(place.start, place.end), text.slice(place.end)];
}
