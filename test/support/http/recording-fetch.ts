/** A call of fetch, as it was made. */
export interface RecordedCall {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | null;
}

type Scripted = Response | Error | ((call: RecordedCall) => Response | Promise<Response>);

/**
 * A fetch that answers what a test scripts, in order (the last again and again), and remembers the calls. It fails as
 * the real one does when its signal fires.
 */
export function recordingFetch(...script: Scripted[]): { fetch: typeof fetch; calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  const answer = async (input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> => {
    const call: RecordedCall = {
      method: init.method ?? 'GET',
      url: new URL(input as string),
      headers: { ...(init.headers as Record<string, string>) },
      body: init.body === undefined || init.body === null ? null : await new Response(init.body).text(),
    };
    calls.push(call);
    const scripted = script[Math.min(calls.length, script.length) - 1];
    if (scripted instanceof Error) throw scripted;
    if (scripted instanceof Response) return scripted.clone();
    const { signal } = init;
    const gone = new Promise<never>((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error)),
    );
    return Promise.race([scripted(call), gone]);
  };
  return { fetch: answer as typeof fetch, calls };
}

/** The envelope of a success. */
export function success(data: unknown): Response {
  return new Response(JSON.stringify({ status: 'success', data, error: null }), {
    headers: { 'content-type': 'application/json' },
  });
}

/** The envelope of an error. */
export function failure(code: number, message: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ status: 'error', data: null, error: { code, message } }), {
    headers: { 'content-type': 'application/json', 'x-request-id': 'request-1', ...headers },
  });
}

/** What Node's fetch throws for a connection that could not be made, or broke. */
export function brokenConnection(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(`it was ${code}`), { code }) });
}
