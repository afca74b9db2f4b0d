import type { V1DeploymentStrategy } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { choice, flag, int32, intOrPercent, kube, object, optional, rules, stringMap } from "./schema.ts";

/** Labels by which the operator finds its children again, and by which selectors find the pods. */
const ownLabels = ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"];

const ownPrefix = {
  rule: "self.all(key, !key.startsWith('coder.com/'))",
  message: "the prefix coder.com/ belongs to the operator: choose another",
};

/** Labels that users add to those of the operator. */
export function addedLabels(description: string) {
  return stringMap(
    description,
    rules(ownPrefix, {
      rule: `!self.exists(key, key in [${ownLabels.map((name) => `'${name}'`).join(", ")}])`,
      message: `the operator sets ${ownLabels.join(", ")} itself: leave them out`,
    }),
  );
}

export function addedAnnotations(description: string) {
  return stringMap(description, rules(ownPrefix));
}

const podDisruptionBudget = object(
  "How many pods a node drain may take away at a time. Without it there is no PodDisruptionBudget.",
  {
    maxUnavailable: optional(intOrPercent("Pods that may be missing, as a number or in percent.")),
    minAvailable: optional(intOrPercent("Pods that must stay, as a number or in percent.")),
    unhealthyPodEvictionPolicy: optional(
      choice(
        "Whether pods that are not ready may be evicted although the budget is spent; absent means IfHealthyBudget.",
        ["IfHealthyBudget", "AlwaysAllow"],
      ),
    ),
  },
  rules({
    rule: "has(self.minAvailable) != has(self.maxUnavailable)",
    message: "give either minAvailable or maxUnavailable",
  }),
);

const presets = object("Settings that Coder's Helm charts make by default and this operator does not.", {
  antiAffinity: optional(
    flag("Prefer a node for each pod. A podAntiAffinity in affinity replaces this one."),
  ),
  securityContext: optional(
    flag(
      "Run the container as user and group 1000, never as root, without privilege escalation and with the runtime's seccomp profile. Pod Security's restricted level also asks for securityContext.capabilities.drop: [ALL]. Fields of securityContext win over these.",
    ),
  ),
});

/** What may be said about the Deployment of every kind, and about the objects around it. */
export const workloadFields = {
  annotations: optional(addedAnnotations("Annotations of the Deployment.")),
  labels: optional(
    addedLabels("Labels of every object that the operator makes for this one; for pods see podLabels."),
  ),
  minReadySeconds: optional(
    int32("Seconds that a new pod must be ready before it counts as available; absent means 0.", {
      minimum: 0,
    }),
  ),
  podDisruptionBudget: optional(podDisruptionBudget),
  presets: optional(presets),
  strategy: optional(
    kube<Wire<V1DeploymentStrategy>>(
      "How a changed Deployment replaces its pods; absent means Kubernetes' default, a rolling update.",
      "io.k8s.api.apps.v1.DeploymentStrategy",
      rules({
        rule: "!has(self.rollingUpdate) || !has(self.type) || self.type == 'RollingUpdate'",
        message: "rollingUpdate goes with the type RollingUpdate: leave it out",
        fieldPath: ".rollingUpdate",
      }),
    ),
  ),
};
