/** A Kubernetes object as it was rendered; its shape is what the schemas say. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // The schemas check what is below; here it is read freely.
  [field: string]: any;
}

/** A pod with the object that makes it. */
export interface PodTemplate {
  owner: Manifest;
  /** For messages: kind and name. */
  title: string;
  labels: Record<string, string>;
  spec: any;
}

export const WORKLOADS = ['Deployment', 'StatefulSet'];

export function titleOf(object: Manifest): string {
  return `${object.kind} ${object.metadata.name}`;
}

/** Every pod that the objects make, those of `helm test` too. */
export function podsOf(objects: readonly Manifest[]): PodTemplate[] {
  return objects.flatMap((owner): PodTemplate[] => {
    if (owner.kind === 'Pod')
      return [{ owner, title: titleOf(owner), labels: owner.metadata.labels ?? {}, spec: owner.spec }];
    if (!WORKLOADS.includes(owner.kind)) return [];
    return [
      { owner, title: titleOf(owner), labels: owner.spec.template.metadata.labels, spec: owner.spec.template.spec },
    ];
  });
}

/** Whether labels are selected by `matchLabels`. */
export function selects(
  selector: { matchLabels?: Record<string, string> } | undefined,
  labels: Record<string, string>,
): boolean {
  return Object.entries(selector?.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
}

export function ofKind(objects: readonly Manifest[], kind: string): Manifest[] {
  return objects.filter((object) => object.kind === kind);
}

export function named(objects: readonly Manifest[], kind: string, name: string): Manifest | undefined {
  return objects.find((object) => object.kind === kind && object.metadata.name === name);
}

/** Names of all ports of a pod's containers. */
export function portNames(spec: any): string[] {
  return spec.containers.flatMap((container: any) => (container.ports ?? []).map((port: any) => port.name));
}
