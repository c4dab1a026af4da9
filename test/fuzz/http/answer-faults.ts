import type { RawAnswer } from './raw-answer';

const ENVELOPE_CODES = new Set([400, 401, 403, 404, 409, 422, 429]);
/** Of programs, not of what a client sent: stack frames, places in the file system, names of modules. */
const REVEALING = /\bat .{0,80}\.(?:ts|js):\d|node_modules|node:internal|\/(?:home|root|tmp|usr|var)\/|ENOENT|EACCES/;

/** What is wrong with one answer: its status, the envelope, the code, and what its message tells. */
export function faultsOfAnswer({ status, headers, body }: RawAnswer): string[] {
  // The one redirect there is, to the explorer.
  if (status === 301 && headers.get('location')?.startsWith('/docs/') === true) return [];
  if (status !== 200) return [`status: ${status} in place of 200`];
  const text = body.toString('utf8');
  if (!(headers.get('content-type') ?? '').startsWith('application/json')) return [];
  let envelope: any;
  try {
    envelope = JSON.parse(text);
  } catch {
    return [`envelope: not JSON: ${text.slice(0, 200)}`];
  }
  // The OpenAPI document and the greeting are no envelopes; they have neither of its names.
  if (envelope?.status === undefined && envelope?.error === undefined) return [];
  if (envelope.status === 'success')
    return envelope.error === null && envelope.data !== null && envelope.data !== undefined
      ? []
      : [`envelope: ${text.slice(0, 200)}`];
  const { code, message } = envelope.error ?? {};
  if (envelope.status !== 'error' || envelope.data !== null || typeof message !== 'string')
    return [`envelope: ${text.slice(0, 200)}`];
  if (!ENVELOPE_CODES.has(code)) return [`code: ${code} for what a client sent: ${message.slice(0, 200)}`];
  return REVEALING.test(message) ? [`leak: a message tells of the inside: ${message.slice(0, 200)}`] : [];
}
