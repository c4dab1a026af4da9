import { type Manifest, named, podsOf } from './manifest';

export interface HttpProbe {
  path: string;
  /** Name of the container's port. */
  port: string;
  initialDelayMs: number;
  periodMs: number;
  timeoutMs: number;
  /** Failures in a row until it counts as failed. */
  failureThreshold: number;
}

/** What a pod template says of a container's life; Kubernetes' defaults where it says nothing. */
export interface PodLife {
  /** From the order to end to SIGKILL; what comes before the end takes from it. */
  gracePeriodMs: number;
  /** Seconds that the container is left alone between the order to end and SIGTERM; 0: no such hook. */
  preStopSleepMs: number;
  startup: HttpProbe;
  liveness: HttpProbe;
  readiness: HttpProbe;
  /** What the manifests say of its environment in so many words, without addresses, ports and folders. */
  environment: Record<string, string>;
}

/**
 * Settings that say where a pod is and who it is there; a process of this machine is elsewhere, and meets an etcd
 * without users.
 */
const PLACES = [
  'PORT',
  'OPS_PORT',
  'RPC_PORT',
  'DATA_DIR',
  'ADVERTISE_ADDRESS',
  'ETCD_ENDPOINTS',
  'ETCD_CA_FILE',
  'ETCD_CERT_FILE',
  'ETCD_KEY_FILE',
  'ETCD_USERNAME',
  'TLS_CA_FILE',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TLS_SERVER_NAME',
];

/**
 * Reads it from a Deployment or StatefulSet of one container. Errors: a hook or probe that is not of the kinds read
 * here.
 */
export function podLifeOf(objects: readonly Manifest[], owner: Manifest): PodLife {
  const [{ spec }] = podsOf([owner]);
  const [container] = spec.containers;
  return {
    gracePeriodMs: 1000 * (spec.terminationGracePeriodSeconds ?? 30),
    preStopSleepMs: preStopSleepMsOf(container.lifecycle?.preStop),
    startup: probeOf(container.startupProbe),
    liveness: probeOf(container.livenessProbe),
    readiness: probeOf(container.readinessProbe),
    environment: environmentOf(objects, container),
  };
}

function preStopSleepMsOf(hook: any): number {
  if (hook === undefined) return 0;
  const [command, seconds, ...more] = hook.exec?.command ?? [];
  if (command !== 'sleep' || !/^\d+$/.test(seconds) || more.length > 0)
    throw new Error(`not a sleep: ${JSON.stringify(hook)}`);
  return 1000 * Number(seconds);
}

function probeOf(probe: any): HttpProbe {
  if (probe?.httpGet === undefined) throw new Error(`not a probe by HTTP: ${JSON.stringify(probe)}`);
  return {
    path: probe.httpGet.path,
    port: probe.httpGet.port,
    initialDelayMs: 1000 * (probe.initialDelaySeconds ?? 0),
    periodMs: 1000 * (probe.periodSeconds ?? 10),
    timeoutMs: 1000 * (probe.timeoutSeconds ?? 1),
    failureThreshold: probe.failureThreshold ?? 3,
  };
}

function environmentOf(objects: readonly Manifest[], container: any): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { configMapRef } of container.envFrom ?? [])
    Object.assign(given, named(objects, 'ConfigMap', configMapRef.name)?.data);
  for (const { name, value } of container.env) if (value !== undefined) given[name] = value;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !PLACES.includes(name)));
}
