import type { KubeObject, Stored } from "kube-controller-runtime";
import type {
  CoderControlPlane,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../../api/v1alpha1/kinds.ts";
import { withDefaults as controlPlaneOf } from "../../../operator/coderd/settings.ts";
import { controlPlaneDeployment } from "../../../operator/control-plane/deployment.ts";
import { controlPlaneGrants } from "../../../operator/control-plane/workspace-grants.ts";
import { DEFAULT_CLUSTER_DOMAIN } from "../../../operator/names.ts";
import { provisionerDeployment } from "../../../operator/provisioner/deployment.ts";
import { withDefaults as provisionerOf } from "../../../operator/provisioner/spec.ts";
import { provisionerGrants } from "../../../operator/provisioner/workspace-grants.ts";
import { httpRoutes, ingress, listenerSet } from "../../../operator/workload/exposure/expose.ts";
import { service } from "../../../operator/workload/exposure/service.ts";
import { serviceAccount } from "../../../operator/workload/rbac/ensure-service-account.ts";
import { proxyDeployment } from "../../../operator/workspace-proxy/deployment.ts";
import { withDefaults as proxyOf } from "../../../operator/workspace-proxy/spec.ts";
import { CONTROL_PLANE_NAME } from "./control-plane.ts";
import type { Manifest } from "./translate.ts";

/** A value that is only known at run time and is therefore ignored in the comparison. */
const UNKNOWN = "";
const COMPUTED = "(computed)";

/** The objects that the operator would create from a manifest, built by the operator's own functions. */
export function desiredObjects(manifest: Manifest): KubeObject[] {
  switch (manifest.kind) {
    case "CoderControlPlane":
      return ofControlPlane(asStored<CoderControlPlane>(manifest));
    case "CoderProvisioner":
      return ofProvisioner(asStored<CoderProvisioner>(manifest));
    case "CoderWorkspaceProxy":
      return ofProxy(asStored<CoderWorkspaceProxy>(manifest));
  }
}

function asStored<T extends KubeObject>({ metadata, spec }: Manifest): Stored<T> {
  return { metadata: { ...metadata, uid: UNKNOWN, resourceVersion: UNKNOWN }, spec } as unknown as Stored<T>;
}

const present = (objects: readonly (KubeObject | undefined)[]) =>
  objects.filter((object) => object !== undefined);

function ofControlPlane(stored: Stored<CoderControlPlane>): KubeObject[] {
  const controlPlane = controlPlaneOf(stored);
  return present([
    serviceAccount(controlPlane),
    ...controlPlaneGrants(controlPlane).flatMap(({ role, roleBinding }) => [role, roleBinding]),
    controlPlaneDeployment(controlPlane, { envFromNames: new Set(), clusterDomain: DEFAULT_CLUSTER_DOMAIN }),
    service(controlPlane),
    ingress(controlPlane),
    ...httpRoutes(controlPlane),
    listenerSet(controlPlane),
  ]);
}

function ofProvisioner(stored: Stored<CoderProvisioner>): KubeObject[] {
  const provisioner = provisionerOf(stored);
  const coderURL = `http://${CONTROL_PLANE_NAME}.${provisioner.identity.namespace}.svc.${DEFAULT_CLUSTER_DOMAIN}`;
  return present([
    serviceAccount(provisioner),
    ...provisionerGrants(provisioner).flatMap(({ role, roleBinding }) => [role, roleBinding]),
    provisionerDeployment(provisioner, {
      image: provisioner.image ?? UNKNOWN,
      coderURL,
      key: provisioner.key.secret,
      keyChecksum: COMPUTED,
    }),
  ]);
}

function ofProxy(stored: Stored<CoderWorkspaceProxy>): KubeObject[] {
  const proxy = proxyOf(stored);
  const { credentials } = proxy;
  return present([
    proxyDeployment(proxy, {
      image: proxy.image ?? UNKNOWN,
      primaryAccessURL: proxy.primaryAccessURL ?? UNKNOWN,
      token: credentials.kind === "given" ? credentials.token : { name: UNKNOWN, key: UNKNOWN },
      tokenChecksum: COMPUTED,
      envFromNames: new Set(),
      clusterDomain: DEFAULT_CLUSTER_DOMAIN,
    }),
    service(proxy),
    ingress(proxy),
    ...httpRoutes(proxy),
    listenerSet(proxy),
  ]);
}
