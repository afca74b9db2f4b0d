import type { ServiceAccount } from "kube-controller-runtime";
import { childMetadata, commonLabels } from "../names.ts";
import type { Builder } from "./settings.ts";

/** A ServiceAccount to keep, or one that is the user's: let go of it, and never delete it. */
export type ServiceAccountPlan =
  | { readonly do: "apply"; readonly serviceAccount: ServiceAccount }
  | { readonly do: "release"; readonly name: string };

export function serviceAccountPlan(builder: Builder): ServiceAccountPlan {
  const { name, managed, labels, annotations } = builder.serviceAccount;
  if (!managed) return { do: "release", name };
  const metadata = childMetadata(builder, name, annotations);
  return {
    do: "apply",
    serviceAccount: {
      apiVersion: "v1",
      kind: "ServiceAccount",
      // Ours win: by them the operator finds its children again.
      metadata: { ...metadata, labels: { ...builder.labels, ...labels, ...commonLabels(builder) } },
    },
  };
}
