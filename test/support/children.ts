import type { KubeObject, Stored } from "kube-controller-runtime";
import type {
  CoderControlPlane,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../src/api/v1alpha1/kinds.ts";
import { withDefaults as controlPlaneOf } from "../../src/operator/coderd/settings.ts";
import { controlPlaneDeployment } from "../../src/operator/control-plane/deployment.ts";
import { controlPlaneGrants } from "../../src/operator/control-plane/workspace-grants.ts";
import { provisionerDeployment } from "../../src/operator/provisioner/deployment.ts";
import { keyChecksum, keySecret } from "../../src/operator/provisioner/key/secret.ts";
import { withDefaults as provisionerOf } from "../../src/operator/provisioner/spec.ts";
import { provisionerGrants } from "../../src/operator/provisioner/workspace-grants.ts";
import { disruptionBudget } from "../../src/operator/workload/disruption-budget.ts";
import { httpRoutes, ingress, listenerSet } from "../../src/operator/workload/exposure/expose.ts";
import { service } from "../../src/operator/workload/exposure/service.ts";
import { serviceAccount } from "../../src/operator/workload/rbac/ensure-service-account.ts";
import { proxyDeployment, tokenChecksum } from "../../src/operator/workspace-proxy/deployment.ts";
import { tokenSecret } from "../../src/operator/workspace-proxy/registration/token-secret.ts";
import { withDefaults as proxyOf } from "../../src/operator/workspace-proxy/spec.ts";

/*
 * All children that our builders make for an object, for tests that look at them together. What only coderd
 * or the cluster would know is made up here.
 */

const coderURL = "http://coder.dev.svc.cluster.local:80";
const image = "ghcr.io/coder/coder:of-the-control-plane";
const notASecret = "not-a-secret";

const present = <T>(objects: readonly (T | undefined)[]) => objects.filter((object) => object !== undefined);

export function controlPlaneChildren(stored: Stored<CoderControlPlane>): KubeObject[] {
  const controlPlane = controlPlaneOf(stored);
  return present<KubeObject>([
    serviceAccount(controlPlane),
    ...controlPlaneGrants(controlPlane).flatMap(({ role, roleBinding }) => [role, roleBinding]),
    controlPlaneDeployment(controlPlane, { envFromNames: new Set(), clusterDomain: "cluster.local" }),
    disruptionBudget(controlPlane),
    service(controlPlane),
    ingress(controlPlane),
    ...httpRoutes(controlPlane),
    listenerSet(controlPlane),
  ]);
}

export function provisionerChildren(stored: Stored<CoderProvisioner>): KubeObject[] {
  const provisioner = provisionerOf(stored);
  return present<KubeObject>([
    keySecret(provisioner, { value: notASecret }),
    serviceAccount(provisioner),
    ...provisionerGrants(provisioner).flatMap(({ role, roleBinding }) => [role, roleBinding]),
    provisionerDeployment(provisioner, {
      image: provisioner.image ?? image,
      coderURL,
      key: provisioner.key.secret,
      keyChecksum: keyChecksum(notASecret),
    }),
    disruptionBudget(provisioner),
  ]);
}

export function workspaceProxyChildren(stored: Stored<CoderWorkspaceProxy>): KubeObject[] {
  const proxy = proxyOf(stored);
  const { credentials } = proxy;
  const registration = "registration" in credentials ? credentials.registration : undefined;
  const token =
    credentials.kind === "given" ? credentials.token : (registration?.token ?? { name: "none", key: "none" });
  return present<KubeObject>([
    registration && tokenSecret(proxy, registration, notASecret),
    proxyDeployment(proxy, {
      image: proxy.image ?? image,
      primaryAccessURL: proxy.primaryAccessURL ?? coderURL,
      token,
      tokenChecksum: tokenChecksum(notASecret),
      envFromNames: new Set(),
      clusterDomain: "cluster.local",
    }),
    disruptionBudget(proxy),
    service(proxy),
    ingress(proxy),
    ...httpRoutes(proxy),
    listenerSet(proxy),
  ]);
}
