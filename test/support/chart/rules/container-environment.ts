import type { Manifest } from '../manifest';
import { named } from '../manifest';

/** What stands for a value that only the cluster knows. */
const FIELDS: Record<string, string> = { 'status.podIP': '10.1.2.3' };

/** The environment of a container as Kubernetes would make it, for a pod of this name. */
export function environmentOf(objects: readonly Manifest[], container: any, podName: string): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { configMapRef } of container.envFrom ?? [])
    Object.assign(environment, named(objects, 'ConfigMap', configMapRef.name)?.data);
  for (const { name, value, valueFrom } of container.env ?? [])
    environment[name] = value !== undefined ? expand(value, environment) : valueOf(objects, valueFrom, podName);
  return environment;
}

/** `$(NAME)` of variables that come before. */
export function expand(text: string, environment: Record<string, string>): string {
  return text.replace(/\$\(([A-Za-z_]\w*)\)/g, (whole, name: string) => environment[name] ?? whole);
}

function valueOf(objects: readonly Manifest[], from: any, podName: string): string {
  const path = from?.fieldRef?.fieldPath;
  if (path === 'metadata.name') return podName;
  if (path !== undefined) return FIELDS[path] ?? '';
  const { name, key } = from.secretKeyRef;
  const secret = named(objects, 'Secret', name);
  // Secrets from outside hold something, too.
  return secret === undefined ? 'given from outside' : Buffer.from(secret.data[key] ?? '', 'base64').toString();
}
