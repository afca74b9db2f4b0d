import type { ServiceAccount } from "kube-controller-runtime";
import { childMetadata } from "../../names.ts";
import type { Provisioner } from "../spec.ts";

export function provisionerServiceAccount(provisioner: Provisioner): ServiceAccount {
  const metadata = childMetadata(provisioner, provisioner.serviceAccountName);
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}
