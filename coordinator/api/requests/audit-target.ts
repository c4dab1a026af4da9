/** Parameters of the paths below. */
type PathParameters = Readonly<Record<string, string | number>>;

/** What a request is about besides a collection, by the template of its endpoint. */
const TARGETS: readonly [prefix: string, name: (path: PathParameters) => string][] = [
  ['/v1/admin/keys/{id}', ({ id }) => `key:${id}`],
  ['/v1/admin/backups/{id}', ({ id }) => `backup:${id}`],
  ['/v1/admin/restores/{id}', ({ id }) => `restore:${id}`],
  ['/v1/cluster/nodes/{id}', ({ id }) => `node:${id}`],
  ['/v1/cluster/shards/{collection}/{shard}', ({ collection, shard }) => `shard:${collection}/${shard}`],
];

/** The key, backup, restore, node or shard that a request is about; null: none. Items are contents, and left out. */
export function auditTarget(template: string, path: PathParameters): string | null {
  for (const [prefix, name] of TARGETS) if (template.startsWith(prefix)) return name(path);
  return null;
}
