import { ConfigMap, CronJob, collectionPath, type Kind, Secret } from "kube-controller-runtime";
import { apiRequest, type ClusterAccess } from "kube-controller-runtime/testing";
import { parseAllDocuments } from "yaml";
import * as ourKinds from "../../src/api/v1alpha1/kinds.ts";
import type { Manifest } from "../support/helm.ts";

const HorizontalPodAutoscaler: Kind = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
};

const NetworkPolicy: Kind = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

const kinds: readonly Kind[] = [
  ...Object.values(ourKinds),
  ConfigMap,
  CronJob,
  HorizontalPodAutoscaler,
  NetworkPolicy,
  Secret,
];

/** Kinds of others that our readers have and our API server does not: only read as YAML. */
const foreignKinds = new Set([
  "argoproj.io/v1alpha1 Application",
  "cert-manager.io/v1 Certificate",
  "external-secrets.io/v1 ExternalSecret",
  "gateway.networking.k8s.io/v1 Gateway",
  "kustomize.toolkit.fluxcd.io/v1 Kustomization",
  "postgresql.cnpg.io/v1 Cluster",
]);

/** The objects in a text; throws when it is not YAML or has something else in it. */
export function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error) throw error;
    const manifest = document.toJS() as Manifest | null;
    if (!manifest?.apiVersion || !manifest.kind || !manifest.metadata?.name)
      throw new Error("a block of YAML has whole objects; another file begins with a comment with its name");
    return manifest;
  });
}

export function isForeign({ apiVersion, kind }: Manifest): boolean {
  return foreignKinds.has(`${apiVersion} ${kind}`);
}

/** Has the API server create an object, strictly and in the given namespace; it is not stored with `dryRun`. */
export function create(
  manifest: Manifest,
  cluster: ClusterAccess,
  { namespace, dryRun }: { readonly namespace: string; readonly dryRun: boolean },
): Promise<{ status: number; text: string }> {
  const { apiVersion, metadata } = manifest;
  const kind = kinds.find((known) => known.apiVersion === apiVersion && known.kind === manifest.kind);
  if (!kind) throw new Error(`the tests know no kind ${apiVersion} ${manifest.kind}`);
  const endpoint = { server: cluster.server, caFile: cluster.caFile, token: cluster.admin.token };
  const path = `${collectionPath(kind, namespace)}?fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`;
  return apiRequest(endpoint, {
    method: "POST",
    path,
    body: { ...manifest, metadata: { ...metadata, namespace } },
  });
}
