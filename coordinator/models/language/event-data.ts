/** Bytes of one line: more than any piece of an answer has. */
const LINE_BYTES_MAX = 1024 * 1024;

/**
 * The data of a stream of events (HTML Standard, 9.2), one text for each event that has some. An event that is not
 * closed by an empty line counts, too: some providers leave that out at the end; but it may have broken off. Throws
 * when there are more than `bytesMax` bytes, or a line without end.
 */
export async function* eventData(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<{ data: string; isClosed: boolean }> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let rest = '';
  let data: string[] = [];
  const linesOf = function* (text: string): Generator<string> {
    rest += text;
    // A carriage return at the end may be followed by its line feed.
    const ready = rest.endsWith('\r') ? rest.length - 1 : rest.length;
    let from = 0;
    for (const { index, 0: end } of rest.slice(0, ready).matchAll(/\r\n|\n|\r/g)) {
      yield rest.slice(from, index);
      from = index + end.length;
    }
    rest = rest.slice(from);
    if (rest.length > LINE_BYTES_MAX) throw new Error('it sends a line without end');
  };
  const eventOf = (line: string): string | undefined => {
    if (line === '') {
      const event = data.length === 0 ? undefined : data.join('\n');
      data = [];
      return event;
    }
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
    return undefined;
  };
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error(`it sends more than ${bytesMax} bytes`);
    for (const line of linesOf(decoder.decode(piece, { stream: true }))) {
      const event = eventOf(line);
      if (event !== undefined) yield { data: event, isClosed: true };
    }
  }
  for (const line of [...linesOf(`${decoder.decode()}\n`), '']) {
    const event = eventOf(line);
    if (event !== undefined) yield { data: event, isClosed: false };
  }
}
