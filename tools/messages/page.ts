import type { Message } from "../../lab/messages.ts";
import { conditionTypes as controlPlane } from "../../src/operator/control-plane/status.ts";
import { conditionTypes as provisioner } from "../../src/operator/provisioner/status.ts";
import { conditionTypes as workspaceProxy } from "../../src/operator/workspace-proxy/status.ts";
import { patternOf, saidBy, type Text } from "./texts.ts";

const KINDS: readonly [string, readonly string[]][] = [
  ["CoderControlPlane", Object.values<string>(controlPlane)],
  ["CoderProvisioner", Object.values<string>(provisioner)],
  ["CoderWorkspaceProxy", Object.values<string>(workspaceProxy)],
];

const INTRODUCTION = `# Messages

Every message that a user can see. [Conditions and reasons](conditions.md) explains the reasons. Names in quotes are left
out as \`"…"\`; \`<n>\`, \`<url>\`, \`<time>\`, \`<name>\` and the like stand for values too. \`Ready\` repeats the first
condition that is False, and most changes of a condition are also an event with its reason and message: what is only
repeated is left out.

The tables of conditions and events have what tests saw; \`make messages\` runs them and adds what is new. The sentences
of the sources that no row has are at the end of the page.`;

/** All that the page is made of. */
export interface Contents {
  /** What the operator reported in tests. */
  readonly messages: readonly Message[];
  /** What the sources say. */
  readonly texts: readonly Text[];
  /** What admission answers, by what is refused. */
  readonly refusals: ReadonlyMap<string, readonly string[]>;
}

/** The reference page of all messages, the same for the same messages in any order. */
export function messagesPage({ messages, texts, refusals }: Contents): string {
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
  const parts = [INTRODUCTION, ...sections, refused(refusals), unseen(texts, messages)];
  return parts.filter(Boolean).join("\n\n");
}

/** The messages on a page, as far as the sources still have a sentence or most words of each. */
export function messagesOn(page: string, texts: readonly Text[]): Message[] {
  const isSaid = saidBy(texts);
  return page.split(/^### /m).flatMap((section) => {
    const [, kind = "", of = ""] = /^(\w+): (\w+)\n/.exec(section) ?? [];
    if (!KINDS.some(([known]) => known === kind)) return [];
    return [...section.matchAll(/^\| (\w+) \| `(\w+)` \| (.*) \|$/gm)].flatMap(
      ([, status = "", reason = "", shown = ""]) => {
        const message = uncell(shown);
        if (!isSaid(message)) return [];
        return [{ kind, ...(of === "events" ? {} : { condition: of }), status, reason, message }];
      },
    );
  });
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

function refused(refusals: Contents["refusals"]): string {
  const lists = [...refusals].map(([what, answers]) => {
    const lines = [...new Set(answers)].sort().map((answer) => `- ${cell(answer)}`);
    return `### Refused: ${what}\n\n${lines.join("\n")}`;
  });
  return ["## Refused by admission", "What `kubectl apply` answers; nothing is stored.", ...lists].join(
    "\n\n",
  );
}

/** By what a sentence is about, as far as its folder says. */
const AREAS: readonly [RegExp, string][] = [
  [/^src\/operator\/control-plane\/upgrade\//, "An upgrade of a CoderControlPlane"],
  [/^src\/coder\/operator-access\//, "The database of a CoderControlPlane"],
  [/^src\/operator\/control-plane\//, "A CoderControlPlane, or who refers to it"],
  [/^src\/operator\/(provisioner|queue|daemons)\//, "A CoderProvisioner"],
  [/^src\/operator\/workspace-proxy\//, "A CoderWorkspaceProxy"],
  [/^/, "Any object"],
];

function unseen(texts: readonly Text[], messages: readonly Message[]): string {
  const left = texts.filter((text) => {
    if (!text.isWhole) return false;
    const pattern = patternOf(text);
    return !messages.some(({ message }) => pattern.test(message));
  });
  const areaOf = ({ file }: Text) => AREAS.find(([pattern]) => pattern.test(file))?.[1];
  const lists = AREAS.flatMap(([, area]) => {
    const lines = left.filter((text) => areaOf(text) === area).map(({ text }) => `- ${cell(text)}`);
    return lines.length === 0 ? [] : [`### ${area}\n\n${lines.sort().join("\n")}`];
  });
  return lists.length === 0 ? "" : ["## Further sentences", ...lists].join("\n\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(/\s+/g, " ");
}

function uncell(text: string): string {
  return text.replaceAll("\\|", "|").replaceAll("&lt;", "<").replaceAll("&gt;", ">");
}
