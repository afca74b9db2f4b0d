import type { V1DeploymentStrategy } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { choice, flag, int32, intOrPercent, kube, object, optional, rules, stringMap } from "./schema.ts";

/** Labels in the selectors of the operator and of the pods. */
const ownLabels = ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"];

const ownPrefix = {
  rule: "self.all(key, !key.startsWith('coder.com/'))",
  message: "must not use the prefix coder.com/, which is reserved for the operator",
};

/** Labels in addition to those that the operator sets. */
export function addedLabels(description: string) {
  return stringMap(
    description,
    rules(ownPrefix, {
      rule: `!self.exists(key, key in [${ownLabels.map((name) => `'${name}'`).join(", ")}])`,
      message: `must not contain ${ownLabels.join(", ")}, which the operator sets`,
    }),
  );
}

export function addedAnnotations(description: string) {
  return stringMap(description, rules(ownPrefix));
}

const podDisruptionBudget = object(
  "Creates a PodDisruptionBudget, which limits how many pods a node drain evicts at a time.",
  {
    maxUnavailable: optional(intOrPercent("Maximum number or percentage of unavailable pods.")),
    minAvailable: optional(intOrPercent("Minimum number or percentage of available pods.")),
    unhealthyPodEvictionPolicy: optional(
      choice(
        "Whether pods that are not ready can be evicted when the budget is exhausted. Defaults to IfHealthyBudget.",
        ["IfHealthyBudget", "AlwaysAllow"],
      ),
    ),
  },
  rules({
    rule: "has(self.minAvailable) != has(self.maxUnavailable)",
    message: "must specify exactly one of minAvailable and maxUnavailable",
  }),
);

const presets = object(
  "Defaults of Coder's Helm charts that the operator does not apply unless enabled here.",
  {
    antiAffinity: optional(
      flag(
        "Prefers to schedule each pod on a different node. A podAntiAffinity in affinity replaces this preset.",
      ),
    ),
    securityContext: optional(
      flag(
        "Runs the container as user and group 1000, as non-root, without privilege escalation and with the RuntimeDefault seccomp profile. The restricted Pod Security Standard also requires securityContext.capabilities.drop: [ALL]. Fields in securityContext override this preset.",
      ),
    ),
  },
);

/** Fields of every kind for the Deployment and related objects. */
export const workloadFields = {
  annotations: optional(addedAnnotations("Annotations of the Deployment.")),
  labels: optional(
    addedLabels(
      "Labels of all objects that the operator creates for this object, except pods. See podLabels.",
    ),
  ),
  minReadySeconds: optional(
    int32(
      "Minimum number of seconds for which a new pod must be ready to be considered available. Defaults to 0.",
      {
        minimum: 0,
      },
    ),
  ),
  podDisruptionBudget: optional(podDisruptionBudget),
  presets: optional(presets),
  strategy: optional(
    kube<Wire<V1DeploymentStrategy>>(
      "Deployment strategy to replace old pods with new ones. Defaults to a rolling update.",
      "io.k8s.api.apps.v1.DeploymentStrategy",
      rules({
        rule: "!has(self.rollingUpdate) || !has(self.type) || self.type == 'RollingUpdate'",
        message: "rollingUpdate requires type RollingUpdate",
        fieldPath: ".rollingUpdate",
      }),
    ),
  ),
};
