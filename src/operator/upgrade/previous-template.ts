import { ControllerRevision, type Deployment, fingerprint } from "kube-controller-runtime";
import { childMetadata, labelLength, type Parent, shortName } from "../names.ts";

export type PodTemplate = NonNullable<Deployment["spec"]>["template"];

const HASH_DIGITS = 10;

/**
 * Stores the complete pod template, including changes by others. The default roles of Kubernetes allow
 * reading it to the same users as Deployments.
 */
export function previousTemplate(
  parent: Parent & { readonly childName: string },
  { spec }: Deployment,
): ControllerRevision {
  const template = withoutNulls(spec?.template);
  const suffix = `-${fingerprint([JSON.stringify(template)]).slice(0, HASH_DIGITS)}`;
  return {
    apiVersion: ControllerRevision.apiVersion,
    kind: ControllerRevision.kind,
    metadata: childMetadata(parent, shortName(parent.childName, { suffix, max: labelLength })),
    revision: 1,
    data: { spec: { template } },
  };
}

export function templateOf({ data }: ControllerRevision): PodTemplate | undefined {
  return (data as { readonly spec?: { readonly template?: PodTemplate } } | undefined)?.spec?.template;
}

/** The API server sets some absent fields to null, which an apply would interpret as values. */
function withoutNulls<T>(value: T): T {
  return JSON.parse(JSON.stringify(value ?? {}, (_key, each: unknown) => each ?? undefined)) as T;
}
