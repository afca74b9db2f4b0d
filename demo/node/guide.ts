import { type Line, span } from "../../src/plugin/terminal/text.ts";

/** The information for using the demo. */
export interface NodeGuideFacts {
  readonly kubeconfig: string;
  /** A folder with kubectl, its plugin and Coder's CLI. */
  readonly programs: string;
  /** Where that CLI stores the session of the demo. */
  readonly coderConfig: string;
  readonly coderUrl: string;
  readonly workspace: string;
}

/** How to use the demo, and what to expect. */
export function nodeGuide(facts: NodeGuideFacts): Line[] {
  return [
    [],
    [span("  Everything is ready. To try it out, open another terminal:", "bold")],
    [],
    command(`export KUBECONFIG=${facts.kubeconfig}`),
    command(`export CODER_CONFIG_DIR=${facts.coderConfig}`),
    command(`export PATH=${facts.programs}:$PATH`),
    [],
    [span("  The workspace:", "bold")],
    [],
    command(`coder ssh ${facts.workspace}`),
    command("kubectl get pods,pvc --namespace workspaces"),
    command(`coder stop ${facts.workspace} --yes`),
    remark("This deletes its pod and keeps its volume; `coder start` recreates the pod."),
    command(`coder create another --template kubernetes --yes`),
    [],
    [span("  The operator and its objects:", "bold")],
    [],
    command("kubectl get coder"),
    command("kubectl coder status"),
    command("kubectl logs --namespace coder-system deployment/coder-k8s"),
    command("kubectl delete pod --selector app.kubernetes.io/name=coder-control-plane"),
    remark("Both replicas of coderd are replaced; `kubectl coder status --watch` shows it."),
    [],
    remark(`coderd runs at ${facts.coderUrl}. It is built from Go modules, without the dashboard.`),
    [],
    [span("  Press Ctrl-C to stop everything and remove it.", "bold")],
    [],
  ];
}

function command(text: string): Line {
  return [span(`    ${text}`, "cyan")];
}

function remark(text: string): Line {
  return [span(`    ${text}`, "dim")];
}
