/** The roles of API keys. */
export type Role = 'admin' | 'readwrite' | 'readonly';

const RANK: Record<Role, number> = { readonly: 0, readwrite: 1, admin: 2 };

/** Whether `role` allows what needs `least`. */
export function reaches(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}
