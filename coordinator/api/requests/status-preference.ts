/** How a request says what it would rather have (RFC 7240). */
export const PREFERENCE_HEADER = 'prefer';

/** A preference of its own in the list, and not a parameter of another one. */
const STATUS = /(?:^|,)\s*status\s*=\s*(?:"(real|200)"|(real|200))\s*(?=$|[,;])/i;

/** Which HTTP status a request wants of an error: its code, or 200; null: it does not say. The first counts. */
export function statusPreference(header: string | string[] | undefined): 'real' | '200' | null {
  if (header === undefined) return null;
  const [, quoted, plain] = STATUS.exec(String(header)) ?? [];
  return ((quoted ?? plain)?.toLowerCase() ?? null) as 'real' | '200' | null;
}
