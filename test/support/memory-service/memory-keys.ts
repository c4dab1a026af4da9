import { randomBytes } from 'node:crypto';
import type { ApiKeyView, KeysService, KeyUsage, Role, UsageView } from '../../../coordinator/keys/keys-service';
import { QuiverError } from '../../../shared/errors/quiver-error';

const DAY_MS = 86_400_000;

/** Keys and their usage in maps; key 1 is the admin key whose secret is given. */
export class MemoryKeys implements KeysService, KeyUsage {
  private readonly keys = new Map<number, ApiKeyView & { key: string }>();
  private readonly requests = new Map<number, Map<string, number>>();
  private nextId = 1;

  constructor(adminSecret: string) {
    this.add('default', 'admin', null, adminSecret);
  }

  authenticate(secret: string): ApiKeyView | null {
    const found = [...this.keys.values()].find(({ key }) => key === secret);
    const isAlive = found?.isActive === true && (found.expiresAt === null || found.expiresAt > new Date().toISOString());
    return isAlive ? found : null;
  }

  async list(): Promise<ApiKeyView[]> {
    return [...this.keys.values()];
  }

  async get(id: number): Promise<ApiKeyView> {
    return this.find(id);
  }

  async create(input: { name: string; role: Role; expiresInDays: number | null }): Promise<ApiKeyView & { key: string }> {
    const expiresAt = input.expiresInDays === null ? null : new Date(Date.now() + input.expiresInDays * DAY_MS).toISOString();
    return this.add(input.name, input.role, expiresAt, randomBytes(16).toString('hex'));
  }

  async update(id: number, change: { name?: string; role?: Role; isActive?: boolean }): Promise<ApiKeyView> {
    const found = this.find(id);
    if (id === 1 && ((change.role ?? 'admin') !== 'admin' || change.isActive === false)) throw new QuiverError('invalid_parameter', 'key 1 stays admin');
    return Object.assign(found, change);
  }

  async rotate(id: number): Promise<ApiKeyView & { key: string }> {
    return Object.assign(this.find(id), { key: randomBytes(16).toString('hex') });
  }

  async delete(id: number): Promise<ApiKeyView> {
    const found = this.find(id);
    if (id === 1) throw new QuiverError('invalid_parameter', 'key 1 cannot be deleted');
    this.keys.delete(id);
    return found;
  }

  record(keyId: number, endpoint: string): void {
    const counts = this.requests.get(keyId) ?? new Map<string, number>();
    counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
    this.requests.set(keyId, counts);
  }

  async ofKey(id: number): Promise<UsageView> {
    this.find(id);
    return usageOf([this.requests.get(id) ?? new Map<string, number>()]);
  }

  async summary(): Promise<UsageView> {
    return usageOf([...this.requests.values()]);
  }

  private add(name: string, role: Role, expiresAt: string | null, key: string) {
    const id = this.nextId++;
    const made = { id, name, role, createdAt: new Date().toISOString(), isActive: true, expiresAt, lastUsedAt: null, key };
    this.keys.set(id, made);
    return made;
  }

  private find(id: number) {
    const found = this.keys.get(id);
    if (found === undefined) throw new QuiverError('not_found', `API key ${id} not found`);
    return found;
  }
}

function usageOf(counts: Map<string, number>[]): UsageView {
  const byEndpoint: Record<string, number> = {};
  for (const [endpoint, count] of counts.flatMap((one) => [...one])) byEndpoint[endpoint] = (byEndpoint[endpoint] ?? 0) + count;
  const totalRequests = Object.values(byEndpoint).reduce((sum, count) => sum + count, 0);
  const lastRequestAt = totalRequests === 0 ? null : new Date().toISOString();
  return { totalRequests, last24h: totalRequests, last7d: totalRequests, last30d: totalRequests, byEndpoint, lastRequestAt };
}
