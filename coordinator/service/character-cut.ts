/** `place`, or the one before it where that would be within a character. */
export function cutAt(text: string, place: number): number {
  return (text.codePointAt(place - 1) ?? 0) > 0xffff ? place - 1 : place;
}
