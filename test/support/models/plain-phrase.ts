/** Whether words stand together in a text: every place of the text is tried. */
export function plainHasPhrase(wanted: readonly string[], near: number, text: readonly string[]): boolean {
  const size = wanted.length + near;
  return text.some((_, at) => {
    if (near === 0) return wanted.every((word, i) => text[at + i] === word);
    const window = text.slice(at, at + size);
    return wanted.every((word) => {
      const place = window.indexOf(word);
      if (place >= 0) window.splice(place, 1);
      return place >= 0;
    });
  });
}
