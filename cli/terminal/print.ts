import type { CommandContext } from '../command-context';

/** JSON for scripts: one document, ended by a line's end. */
export function printJson(context: CommandContext, value: unknown): void {
  context.output.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Of a terminal that does not say it. */
const WIDTH = 120;

/** Columns that a line of the output may have; what is read by a program is cut nowhere. */
export function outputWidth({ output }: CommandContext): number {
  const { isTTY, columns = WIDTH } = output as { isTTY?: boolean; columns?: number };
  return isTTY === true ? columns : Infinity;
}

/** 1,234,567 as people read it. */
export function count(number: number): string {
  return number.toLocaleString('en');
}

/** Bytes in the unit that leaves two or three digits. */
export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
