type Members = Record<string, unknown>;

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function replaceMember(owner: unknown, replacement: (value: unknown) => unknown): void {
  if (isObject(owner) && Object.hasOwn(owner, 'vector')) owner.vector = replacement(owner.vector);
}

/** Replaces, in place, the value of every `vector` member that stands where requests have their vectors. */
export function replaceVectors(body: unknown, replacement: (value: unknown) => unknown): void {
  if (!isObject(body)) return;
  replaceMember(body, replacement);
  for (const list of ['items', 'queries']) {
    const owners = Object.hasOwn(body, list) ? body[list] : undefined;
    if (Array.isArray(owners)) for (const owner of owners) replaceMember(owner, replacement);
  }
}
