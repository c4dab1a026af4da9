/** One answer as it came. */
export interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: Buffer;
}

const HEAD = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n/;

/**
 * The answers in what a connection carried; null where the bytes are none, or the last is not whole. Interim ones (1xx)
 * are left out.
 */
export function parseAnswers(bytes: Buffer): RawAnswer[] | null {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < bytes.length;) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    const head = bytes.toString('latin1', at, headEnd < 0 ? at : headEnd + 2);
    const status = Number(HEAD.exec(head)?.[1] ?? 0);
    if (status === 0) return null;
    const headers = new Map(
      head
        .split('\r\n')
        .slice(1, -1)
        .map(
          (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const,
        ),
    );
    const bodyAt = headEnd + 4;
    const body = status < 200 ? { bytes: Buffer.alloc(0), end: bodyAt } : bodyOf(bytes, bodyAt, headers);
    if (body === null) return null;
    if (status >= 200) answers.push({ status, headers, body: body.bytes });
    at = body.end;
  }
  return answers;
}

function bodyOf(bytes: Buffer, at: number, headers: Map<string, string>): { bytes: Buffer; end: number } | null {
  if (headers.get('transfer-encoding') === 'chunked') return chunkedBody(bytes, at);
  const length = Number(headers.get('content-length') ?? 0);
  const end = at + length;
  // An answer to HEAD announces a body that does not come: what follows is the next answer, or nothing.
  const isHeadOnly = length > 0 && (at === bytes.length || HEAD.test(bytes.toString('latin1', at, at + 40)));
  if (isHeadOnly) return { bytes: Buffer.alloc(0), end: at };
  return end > bytes.length ? null : { bytes: bytes.subarray(at, end), end };
}

function chunkedBody(bytes: Buffer, start: number): { bytes: Buffer; end: number } | null {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const dataAt = lineEnd + 2;
    if (!Number.isInteger(size) || dataAt + size + 2 > bytes.length) return null;
    if (size === 0) return { bytes: Buffer.concat(chunks), end: dataAt + 2 };
    chunks.push(bytes.subarray(dataAt, dataAt + size));
    at = dataAt + size + 2;
  }
}
