import type { RunContext } from "../../../runtime/controller/controller.ts";
import { Deployment } from "../../../runtime/kinds.ts";
import type { Stored } from "../../../runtime/object.ts";
import { variableValue } from "../../shared/env-sources.ts";
import { labelValue } from "../../shared/names.ts";
import { clusterURL } from "../../shared/service.ts";
import type { Snapshot } from "../observe.ts";
import { accessURLVariable, controlPlaneDeployment } from "../resources/deployment.ts";
import type { Result } from "./result.ts";

/** Keeps coderd's Deployment and tells how many of its pods serve; the value is whether any does. */
export async function ensureDeployment(snapshot: Snapshot, context: RunContext): Promise<Result<boolean>> {
  const { controlPlane, owner } = snapshot;
  const { namespace } = controlPlane.identity;
  const accessURL = await variableValue(accessURLVariable, controlPlane.pod, { namespace, context });
  const envFromNames = new Set(accessURL.kind === "value" ? [accessURLVariable] : []);
  const desired = controlPlaneDeployment(controlPlane, envFromNames);
  const [deployment] = await context.children.converge(Deployment, [desired], owner);
  return report(deployment, snapshot);
}

function report(deployment: Stored<Deployment> | undefined, { controlPlane }: Snapshot): Result<boolean> {
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  const { replicas, identity, childName } = controlPlane;
  const status = {
    readyReplicas,
    phase: readyReplicas > 0 ? ("Ready" as const) : ("Pending" as const),
    url: clusterURL(controlPlane),
  };
  const count = `${readyReplicas} of ${replicas} pods of Deployment "${childName}" are ready`;
  if (readyReplicas > 0) {
    const reason = readyReplicas >= replicas ? "AllReplicasReady" : "SomeReplicasReady";
    return { status, condition: { status: "True", reason, message: count }, value: true };
  }
  if (replicas === 0) {
    return { status, condition: { status: "False", reason: "ScaledToZero", message: "spec.replicas is 0" } };
  }
  const hint = `kubectl -n ${identity.namespace} describe pods -l app.kubernetes.io/instance=${labelValue(identity.name)}`;
  return {
    status,
    condition: { status: "False", reason: "NoReplicaReady", message: `${count}; see: ${hint}` },
  };
}
