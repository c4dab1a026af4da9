/** Names and colours (ANSI) of pino's level numbers. */
const LEVELS: Record<number, { name: string; colour: number }> = {
  10: { name: 'TRACE', colour: 90 },
  20: { name: 'DEBUG', colour: 36 },
  30: { name: 'INFO ', colour: 32 },
  40: { name: 'WARN ', colour: 33 },
  50: { name: 'ERROR', colour: 31 },
  60: { name: 'FATAL', colour: 35 },
};

interface ErrorShape {
  stack?: string;
  message?: string;
  cause?: ErrorShape;
}

function errorText(error: ErrorShape): string {
  const own = error.stack ?? error.message ?? '';
  return error.cause === undefined ? own : `${own}\ncaused by ${errorText(error.cause)}`;
}

/**
 * Formats one JSON log line for reading in a terminal: time of day, level, message and the remaining fields, with the
 * stack of an error below. Text that is not JSON is passed on as it is.
 */
export function humanLine(line: string, colours: boolean): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { level, time, msg, error, ...fields } = record;
  const { name, colour } = LEVELS[Number(level)] ?? { name: String(level), colour: 37 };
  const paint = (code: number, text: string): string => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const rest = Object.entries(fields).map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const head = [paint(90, clock), paint(colour, name), typeof msg === 'string' ? msg : '', paint(90, rest.join(' '))]
    .join(' ')
    .trimEnd();
  const below = error === undefined ? '' : `\n${errorText(error as ErrorShape).replace(/^/gm, '    ')}`;
  return `${head}${below}\n`;
}
