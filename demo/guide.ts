import { type Line, span } from "./view/text.ts";

/** What somebody needs to know to play. */
export interface GuideFacts {
  readonly kubeconfig: string;
  /** The path of a kubectl for those who have none of their own. */
  readonly kubectl?: string;
  readonly leaderPid: number;
  /** A manifest with another licence; absent where only real licences count. */
  readonly otherLicense?: string;
}

interface Idea {
  readonly title: string;
  readonly command: string;
  readonly effect: string;
}

/** How to play, and what one will see. */
export function guide(facts: GuideFacts): Line[] {
  const { kubeconfig, kubectl } = facts;
  return [
    [],
    [span("  Everything is ready. To play, open another terminal:", "bold")],
    [],
    command(`export KUBECONFIG=${kubeconfig}`),
    ...(kubectl ? [command(`alias kubectl=${kubectl}`)] : []),
    command("kubectl get coder"),
    [],
    [span("  Things to try:", "bold")],
    ...ideas(facts).flatMap(({ title, command: text, effect }) => [
      [],
      [span(`  ${title}`)],
      command(text),
      [span(`    ${effect}`, "dim")],
    ]),
    [],
    [span("  Ctrl-C ends everything and leaves nothing behind.", "bold")],
    [],
  ];
}

function command(text: string): Line {
  return [span(`    ${text}`, "cyan")];
}

function ideas({ leaderPid, otherLicense }: GuideFacts): Idea[] {
  const rotation: Idea[] = otherLicense
    ? [
        {
          title: "Rotate the licence",
          command: `kubectl apply -f ${otherLicense}`,
          effect: "The control plane's licence turns from enterprise to premium within a second.",
        },
      ]
    : [];
  return [
    ...rotation,
    {
      title: "Change tags",
      command: `kubectl patch cprov linux --type merge -p '{"spec":{"tags":{"region":"us"}}}'`,
      effect: "A new key is made, the daemons move over to it, and only then the old key is deleted.",
    },
    {
      title: "Delete a Secret",
      command: "kubectl delete secret linux-provisioner-key",
      effect: "coderd shows a key only once, so there is a new key, a new Secret, and daemons that use it.",
    },
    {
      title: "Delete what the operator made",
      command: "kubectl delete deployment,service wsproxy-sydney",
      effect: "Both are back at once, and the proxy with them.",
    },
    {
      title: "Kill the leader",
      command: `kill -9 ${leaderPid}`,
      effect: "The standby leads once the lease has run out, in 15 s. A plain kill hands it over within 2 s.",
    },
    {
      title: "Ask why",
      command: "kubectl describe ccp coder",
      effect: "Conditions and events say what happened, and what to do when something is wrong.",
    },
  ];
}
