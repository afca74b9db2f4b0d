import type { PropagationCase } from "./case.ts";
import { accountCases, networkCases } from "./network-cases.ts";
import { certificateCases, podCases, workloadCases } from "./pod-cases.ts";

export const propagationCases: readonly PropagationCase[] = [
  ...podCases,
  ...workloadCases,
  ...certificateCases,
  ...networkCases,
  ...accountCases,
];

/** Fields that no row can show, and where they are tested instead. */
export const testedElsewhere: Readonly<Record<string, string>> = {
  "expose.setAccessURL": "test/world/control-plane/access-url.test.ts: with each way of exposure",
  "expose.gateway": "gateway.test.ts: needs the Gateway API",
  "rbac.workspaceNamespaces": "foreign-namespaces.test.ts: needs an operator of the whole cluster",
  "rbac.workspacePerms": "removal.test.ts: shows by absence",
  "serviceAccount.disableCreate": "removal.test.ts: shows by absence",
  "rbac.extraRules.nonResourceURLs": "api-admission.test.ts: refused",
  internalURL: "test/world/provisioner/addresses.test.ts: reaches the daemons",
  restartOn: "test/world/control-plane/restart.test.ts: shows when a certificate changes",
  licenseSecretRef: "goes to coderd, not to a child",
  firstAdmin: "goes to coderd, not to a child",
  operatorAccess: "goes to coderd, not to a child",
  organizationSync: "goes to coderd, not to a child",
  upgrade: "says how the image changes, and changes no child itself",
};
