import type { Message } from "../../lab/messages.ts";
import { conditionTypes as controlPlane } from "../../src/operator/control-plane/status.ts";
import { conditionTypes as provisioner } from "../../src/operator/provisioner/status.ts";
import { conditionTypes as workspaceProxy } from "../../src/operator/workspace-proxy/status.ts";

const KINDS: readonly [string, readonly string[]][] = [
  ["CoderControlPlane", Object.values<string>(controlPlane)],
  ["CoderProvisioner", Object.values<string>(provisioner)],
  ["CoderWorkspaceProxy", Object.values<string>(workspaceProxy)],
];

const INTRODUCTION = `<!-- Written by \`make messages\`; do not edit. -->

# Messages

Every message that the tests of this release saw, by kind and condition. [Conditions and reasons](conditions.md) explains
the reasons. Names in quotes are left out as \`"…"\`; \`<n>\`, \`<url>\`, \`<time>\`, \`<name>\` and the like stand for
values too. \`Ready\` repeats the first condition that is False, and most changes of a condition are also an event with its
reason and message: what is only repeated is left out.`;

/** The reference page of all messages, the same for the same messages in any order. */
export function messagesPage(messages: readonly Message[]): string {
  const sections = KINDS.flatMap(([kind, conditions]) => {
    const ofKind = messages.filter((message) => message.kind === kind);
    const own = ofKind.filter((message) => !isRepeated(message, ofKind));
    const tables = conditions.map((condition) => {
      const rows = own.filter((message) => message.condition === condition);
      return rows.length === 0 ? "" : `### ${kind}: ${condition}\n\n${table("Status", rows)}`;
    });
    const events = own.filter(({ condition }) => condition === undefined);
    return [`## ${kind}`, ...tables, `### ${kind}: events\n\n${table("Type", events)}`];
  });
  return `${[INTRODUCTION, ...sections.filter(Boolean)].join("\n\n")}\n`;
}

/** Whether a summary or an event says only what another condition says. */
function isRepeated({ condition, reason, message }: Message, all: readonly Message[]): boolean {
  if (condition !== undefined && condition !== "Ready") return false;
  return all.some(
    (other) =>
      other.condition !== undefined &&
      other.condition !== condition &&
      other.reason === reason &&
      other.message === message,
  );
}

function table(status: string, messages: readonly Message[]): string {
  const rows = messages.map(
    (message) => `| ${message.status} | \`${message.reason}\` | ${cell(message.message)} |`,
  );
  return [`| ${status} | Reason | Message |`, "|---|---|---|", ...[...new Set(rows)].sort()].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(/\s+/g, " ");
}
