import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../command-context';
import { Connection } from '../connection/connection';
import { findTarget } from '../connection/target';
import { type WhereFilter, filterOfWhere, WhereError } from '../filters/where';

/** Adds a command, or several, to the program. The context is the process's. */
export type AddCommand = (program: Command, context: CommandContext) => void;

/** Options of every command that asks a service. */
export interface ConnectionOptions {
  url?: string;
  profile?: string;
  timeout: number;
}

const DEFAULT_TIMEOUT_SECONDS = 60;

/** Gives a command the options that say which service it asks. */
export function connected(command: Command): Command {
  return command
    .option('--url <address>', 'address of the service; otherwise QUIVER_URL or a profile says it')
    .option('--profile <name>', 'profile to use; otherwise QUIVER_PROFILE or the current one')
    .option('--timeout <seconds>', 'how long to wait for an answer', positiveNumber, DEFAULT_TIMEOUT_SECONDS);
}

export function connect(context: CommandContext, options: ConnectionOptions): Connection {
  return new Connection(findTarget(context.environment, options), options.timeout * 1000, context);
}

/** Options of a command that takes a filter, in either form. */
export interface FilterOptions {
  filter?: WhereFilter;
  where?: WhereFilter;
}

/** Gives a command the options that say which items it is about. */
export function filtered(command: Command, meaning: string, example = '{"year": {"$gte": 1990}}'): Command {
  return command
    .option('--filter <json>', `${meaning}, such as '${example}'`, jsonObject)
    .option(
      '--where <expression>',
      `the same as people write it, such as 'year >= 2000 and category = law'`,
      whereArgument,
    );
}

/** What both say together; undefined: neither is given. */
export function filterOf({ filter, where }: FilterOptions): WhereFilter | undefined {
  return filter !== undefined && where !== undefined ? { $and: [filter, where] } : (filter ?? where);
}

function whereArgument(expression: string): WhereFilter {
  try {
    return filterOfWhere(expression);
  } catch (error) {
    throw error instanceof WhereError ? new InvalidArgumentError(error.message) : error;
  }
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number <= 0)
    throw new InvalidArgumentError('It must be a number above 0.');
  return number;
}

/** A parser of whole numbers in a range. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < least || number > most)
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    return number;
  };
}

/** A JSON object, as filters are. */
export function jsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`It is not JSON: ${(error as Error).message}. An expression is for --where.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidArgumentError('It must be a JSON object, such as {"year": {"$gte": 1990}}.');
  return value as Record<string, unknown>;
}

/** "a,b" as ["a", "b"]; given again, more of them. */
export function names(text: string, before: string[] = []): string[] {
  return [
    ...before,
    ...text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ];
}
