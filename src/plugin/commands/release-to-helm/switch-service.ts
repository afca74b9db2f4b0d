import { type KubeObject, kind, Pod, Service, type Stored } from "kube-controller-runtime";
import { type Labels, selectorOf } from "../../../operator/names.ts";
import { listAll } from "../../cluster.ts";
import { type ReleaseTarget, serviceOf, waitFor } from "./target.ts";

interface EndpointSlice extends KubeObject {
  endpoints?: { conditions?: { ready?: boolean } }[] | null;
}
const EndpointSlice = kind<EndpointSlice>("discovery.k8s.io/v1", {
  kind: "EndpointSlice",
  plural: "endpointslices",
});

/**
 * Switches the Service to pods with these labels without leaving it without endpoints: first waits until
 * Kubernetes has found all pods by the same selector for a temporary Service.
 */
export async function switchService(target: ReleaseTarget, selector: Labels): Promise<void> {
  const { client, ref } = target;
  await untilEndpointsReady(target, selector);
  const before = (await serviceOf(target)).spec?.selector ?? {};
  // A merge patch keeps the labels that it does not name.
  const gone = Object.keys(before).filter((label) => !(label in selector));
  const patch = { ...Object.fromEntries(gone.map((label) => [label, null])), ...selector };
  await client.mergePatch(Service, ref, { spec: { selector: patch } });
}

/** Resolves when a Service with this selector would have all ready pods as endpoints. */
export async function untilEndpointsReady(target: ReleaseTarget, selector: Labels): Promise<void> {
  const { client, ref } = target;
  const trial = { namespace: ref.namespace, name: `${ref.name}-release-trial` };
  await client.delete(Service, trial);
  const spec = { clusterIP: "None", selector, ports: [{ name: "http", port: 8080 }] };
  await client.create(Service, { metadata: trial, spec });
  try {
    const labelSelector = `kubernetes.io/service-name=${trial.name}`;
    await waitFor(target, { what: "Kubernetes did not publish the endpoints of the pods" }, async () => {
      const { namespace } = ref;
      const [pods, slices] = await Promise.all([
        listAll(client, Pod, { namespace, labelSelector: selectorOf(selector) }),
        listAll(client, EndpointSlice, { namespace, labelSelector }),
      ]);
      const found = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(isReady).length;
      return found >= pods.filter(isServing).length ? true : undefined;
    });
  } finally {
    await client.delete(Service, trial);
  }
}

const isReady = ({ conditions }: { readonly conditions?: { readonly ready?: boolean } }) =>
  conditions?.ready === true;

function isServing({ metadata, status }: Stored<Pod>): boolean {
  if (metadata.deletionTimestamp) return false;
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}
