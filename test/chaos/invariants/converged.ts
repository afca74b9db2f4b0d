import { createHash } from "node:crypto";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import type { Wish } from "../fleet.ts";
import type { Evidence, SeenObject } from "./evidence.ts";

const CONDITIONS: Readonly<Record<Wish["kind"], readonly string[]>> = {
  CoderControlPlane: ["Ready", "OperatorAccessReady", "LicenseApplied", "EntitlementsKnown"],
  CoderProvisioner: ["Ready"],
  CoderWorkspaceProxy: ["Ready"],
  CoderGroup: ["Ready"],
};

/** Every object says that it is what the user wants it to be, and that it serves. */
export function everythingConverged(evidence: Evidence): string[] {
  return [...evidence.fleet.values()].flatMap((wish) => {
    const object = evidence.objects.get(wish.name);
    const problems = object ? problemsOf(wish, object, evidence) : ["does not exist"];
    return problems.map((problem) => `${wish.name} ${problem}`);
  });
}

function problemsOf(wish: Wish, { generation, status }: SeenObject, evidence: Evidence): string[] {
  const { observedGeneration, readyReplicas = 0, conditions = [] } = status;
  if (observedGeneration !== generation)
    return [`was last looked at in generation ${observedGeneration}, and is in ${generation}`];
  const problems = CONDITIONS[wish.kind].flatMap((type) => conditionProblem(type, conditions));
  if (wish.kind !== "CoderGroup" && readyReplicas !== wish.replicas)
    problems.push(`has ${readyReplicas} ready replicas instead of ${wish.replicas}`);
  if (status.pendingKey) problems.push(`is still about to make the key "${status.pendingKey.name}"`);
  const retired = status.retiredKeys ?? [];
  problems.push(...retired.map(({ name }) => `has not deleted its old key "${name}"`));
  return [...problems, ...licenseProblem(wish, status, evidence)];
}

function conditionProblem(type: string, conditions: readonly Condition[]): string[] {
  const condition = conditions.find((candidate) => candidate.type === type);
  if (condition?.status === "True") return [];
  const why = condition ? `${condition.reason}: ${condition.message}` : "it has no such condition";
  return [`is not ${type} (${why})`];
}

function licenseProblem(wish: Wish, status: SeenObject["status"], evidence: Evidence): string[] {
  if (wish.kind !== "CoderControlPlane") return [];
  const jwt = evidence.licenses[wish.license] ?? "";
  if (!evidence.coderds.get(wish.name)?.licenses.includes(jwt))
    return [`has a coderd without the ${wish.license} license`];
  const hash = createHash("sha256").update(jwt).digest("hex");
  return status.licenseLastAppliedHash === hash ? [] : ["has another license in its status than in its spec"];
}
