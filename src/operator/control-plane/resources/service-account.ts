import type { ServiceAccount } from "kube-controller-runtime";
import { childMetadata } from "../../names.ts";
import type { ControlPlane } from "../spec.ts";

/** A ServiceAccount to keep, or one that is the user's: let go of it, and never delete it. */
export type ServiceAccountPlan =
  | { readonly do: "apply"; readonly serviceAccount: ServiceAccount }
  | { readonly do: "release"; readonly name: string };

export function serviceAccountPlan(controlPlane: ControlPlane): ServiceAccountPlan {
  const { name, managed, labels, annotations } = controlPlane.serviceAccount;
  if (!managed) return { do: "release", name };
  const metadata = childMetadata(controlPlane, name, annotations);
  return {
    do: "apply",
    serviceAccount: {
      apiVersion: "v1",
      kind: "ServiceAccount",
      // Ours win: by them the operator finds its children again.
      metadata: { ...metadata, labels: { ...labels, ...metadata.labels } },
    },
  };
}
