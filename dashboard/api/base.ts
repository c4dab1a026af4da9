/**
 * What stands before the paths of the service where a proxy has it under a path: '' or `/tools/quiver`. This file is at
 * /ui/assets.
 */
export const BASE = new URL('../..', import.meta.url).pathname.replace(/\/$/, '');

/** A name of what the browser keeps: services under other paths of the same host keep their own. */
export function storedAs(name: string): string {
  return BASE === '' ? name : `${name}:${BASE}`;
}
