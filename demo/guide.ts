import { type Line, span } from "../src/plugin/terminal/text.ts";

/** The information for using the demo. */
export interface GuideFacts {
  readonly kubeconfig: string;
  /** The path of the kubectl for this cluster. */
  readonly kubectl: string;
  /** The folder with the plugin and its Node.js. */
  readonly pluginFolder: string;
  /** A file with the PID of the current leader. */
  readonly leaderFile: string;
  /** Log files of the operator, as a shell pattern. */
  readonly operatorLogs: string;
  /** The URL of coderd, and its pods' output as a shell pattern; absent if it is simulated. */
  readonly coderd?: { readonly url: string; readonly logs: string };
  /** A manifest with another license; absent if there is none. */
  readonly otherLicense?: string;
  /** Whether the real Coder could run instead of the simulated one. */
  readonly offersRealCoder: boolean;
}

interface Idea {
  readonly title: string;
  readonly command: string;
  readonly effect: string;
}

/** How to use the demo, and what to expect. */
export function guide(facts: GuideFacts): Line[] {
  return [
    [],
    [span("  Everything is ready. To try it out, open another terminal:", "bold")],
    [],
    command(`export KUBECONFIG=${facts.kubeconfig}`),
    command(`alias kubectl=${facts.kubectl}`),
    command("kubectl get coder"),
    command(`export PATH=${facts.pluginFolder}:$PATH`),
    command("kubectl coder status"),
    remark("docs/kubectl-coder.md shows all commands on this demo."),
    [],
    ...logs(facts),
    [],
    [span("  Things to try:", "bold")],
    ...ideas(facts).flatMap(({ title, command: text, effect }) => [
      [],
      [span(`  ${title}`)],
      command(text),
      [span(`    ${effect}`, "dim")],
    ]),
    ...offer(facts),
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

function logs({ operatorLogs, coderd }: GuideFacts): Line[] {
  return [
    [span("  Logs:", "bold")],
    [],
    command(`tail -F ${operatorLogs}`),
    ...(coderd ? [command(`tail -F ${coderd.logs}`), remark(`coderd runs at ${coderd.url}`)] : []),
    remark("This demo simulates pods without a kubelet, so `kubectl logs`, `exec` and `port-forward`"),
    remark('fail with `pods "local" not found`. Everything else in kubectl works.'),
  ];
}

function offer({ offersRealCoder }: GuideFacts): Line[] {
  if (!offersRealCoder) return [];
  return [
    [],
    [span("  The real Coder")],
    command("make demo REAL=1"),
    remark("It is built on this machine. Pods then run coder and Terraform, with licenses for an hour."),
  ];
}

function ideas({ leaderFile, otherLicense }: GuideFacts): Idea[] {
  const rotation: Idea[] = otherLicense
    ? [
        {
          title: "Rotate the license",
          command: `kubectl apply -f ${otherLicense}`,
          effect: "The control plane's license changes from enterprise to premium within a second.",
        },
      ]
    : [];
  return [
    ...rotation,
    {
      title: "Change tags",
      command: `kubectl patch cprov linux --type merge -p '{"spec":{"tags":{"region":"us"}}}'`,
      effect: "The operator creates a new key, restarts the daemons with it, and then deletes the old key.",
    },
    {
      title: "Delete a Secret",
      command: "kubectl delete secret linux-provisioner-key",
      effect:
        "coderd shows a key only once, so the operator creates a new key and a new Secret, and restarts the daemons.",
    },
    {
      title: "Delete objects of the operator",
      command: "kubectl delete deployment,service wsproxy-sydney",
      effect: "The operator recreates both immediately, and the proxy works again.",
    },
    {
      title: "Kill the leader",
      command: `kill -9 $(cat ${leaderFile})`,
      effect: "The standby becomes the leader after the lease expires, in 15 s. Without -9 it takes 2 s.",
    },
    {
      title: "Find a cause",
      command: "kubectl apply -f demo/manifests/trouble.yaml && kubectl coder why provisioner/gpu",
      effect:
        "A pool that needs a missing Secret. `kubectl create secret generic cuda --from-literal=license=any` helps.",
    },
    {
      title: "Rotate a key",
      command: "kubectl coder rotate provisioner linux && kubectl coder status --watch",
      effect: "The operator replaces the key without an outage. `kubectl coder --help` lists all commands.",
    },
  ];
}
