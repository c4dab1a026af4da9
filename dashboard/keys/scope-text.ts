import type { KeyScope, Role } from '../api/shapes';

/** Scopes as people write them: `articles, logs-*: readwrite`. A name that ends with `*` is how names begin. */

export function scopesToText(scopes: readonly KeyScope[], role: Role): string {
  return scopes
    .map((scope) => `${scope.name ?? `${scope.prefix}*`}${scope.role === role ? '' : `: ${scope.role}`}`)
    .join(', ');
}

/** null: all collections. What is wrong in it, the service says. */
export function scopesFromText(text: string): (Omit<KeyScope, 'role'> & { role?: Role })[] | null {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return null;
  return parts.map((part) => {
    const [name = '', role] = part.split(':').map((word) => word.trim());
    return {
      ...(name.endsWith('*') ? { prefix: name.slice(0, -1) } : { name }),
      ...(role === undefined ? {} : { role: role as Role }),
    };
  });
}
