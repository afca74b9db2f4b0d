import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, ownVerbs, readVerbs } from "../permissions/rbac.ts";

export const rules: readonly PolicyRule[] = [
  {
    resources: ["coderworkspaceproxies.coder.com"],
    verbs: ownVerbs,
    because: "reads workspace proxies and keeps their finalizer",
  },
  {
    resources: ["coderworkspaceproxies.coder.com/status"],
    verbs: ["patch"],
    because: "reports the state of workspace proxies",
  },
  {
    resources: ["coderworkspaceproxies.coder.com/finalizers"],
    verbs: ["update"],
    because: "owns children where the cluster checks who may block a deletion",
  },
  {
    resources: ["codercontrolplanes.coder.com"],
    verbs: readVerbs,
    because: "finds the control plane of a proxy",
  },
  { resources: ["deployments.apps", "services"], verbs: childVerbs, because: "runs workspace proxies" },
  {
    resources: ["ingresses.networking.k8s.io", "httproutes.gateway.networking.k8s.io"],
    verbs: childVerbs,
    because: "exposes workspace proxies outside the cluster",
  },
  { resources: ["secrets"], verbs: childVerbs, because: "reads session tokens; keeps proxy tokens" },
  { resources: ["configmaps"], verbs: readVerbs, because: "finds the proxy's URLs that envFrom may set" },
  {
    resources: ["poddisruptionbudgets.policy"],
    verbs: childVerbs,
    because: "limits how many pods a drain evicts at a time",
  },
  { resources: ["pods"], verbs: readVerbs, because: "finds out why pods do not become ready" },
];
