/**
 * A page of elements on its way into an answer belongs to whoever takes it, and each element is taken out of it. A
 * generator or an async function that waits keeps all its variables, also those that nothing reads any more. What a
 * page in one of them holds would be held, and not counted, as long as a slow client takes for what was made of it.
 */

/** Takes one element out of a page. The place is empty then. */
export function takenFrom<Element>(page: Element[], at: number): Element {
  const element = page[at];
  page[at] = undefined as Element;
  return element;
}

/** Empties a page. Answers what is made of its elements; undefined leaves one out. */
export function allTakenFrom<Element, Made>(page: Element[], make: (element: Element) => Made | undefined): Made[] {
  const made: Made[] = [];
  for (const element of page) {
    const one = make(element);
    if (one !== undefined) made.push(one);
  }
  page.length = 0;
  return made;
}
