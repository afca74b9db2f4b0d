import { appendFileSync } from "node:fs";
import type { FaultyTransport } from "kube-controller-runtime/testing";

type SentRequest = FaultyTransport["requests"][number];

/** A message that a user can see: of a condition, or of an event when it has no `condition`. */
export interface Message {
  readonly kind: string;
  readonly condition?: string;
  /** `True`, `False` or `Unknown` of a condition, `Normal` or `Warning` of an event. */
  readonly status: string;
  readonly reason: string;
  /** With marks instead of what differs from one object to the other. */
  readonly message: string;
}

const KINDS: Readonly<Record<string, string>> = {
  codercontrolplanes: "CoderControlPlane",
  coderprovisioners: "CoderProvisioner",
  coderworkspaceproxies: "CoderWorkspaceProxy",
};

interface Written {
  readonly status?: {
    readonly conditions?: readonly Record<"type" | "status" | "reason" | "message", string>[];
  };
  readonly involvedObject?: { readonly kind?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Of a longer message the end may be missing. */
const MOST_CHARACTERS = 1000;

/** The messages that an operator wrote with these requests. */
export function messagesIn(requests: readonly SentRequest[]): Message[] {
  return requests.flatMap(({ method, path, body = "" }) => {
    const [, namespace = "", plural = "", subresource = ""] =
      /\/namespaces\/([^/?]+)\/([^/?]+)\/?[^/?]*\/?([^/?]*)/.exec(path) ?? [];
    const kind = KINDS[plural];
    const general = (message: string) => generalised(message, namespace);
    if (method === "POST" && plural === "events") return eventIn(JSON.parse(body), general);
    if (method !== "PATCH" || !kind || subresource !== "status") return [];
    const written: Written = JSON.parse(body);
    return (written.status?.conditions ?? []).map(({ type, status, reason, message }) => {
      return { kind, condition: type, status, reason, message: general(message) };
    });
  });
}

function eventIn(
  { involvedObject, type = "", reason = "", message = "" }: Written,
  general: (message: string) => string,
): Message[] {
  const kind = involvedObject?.kind ?? "";
  return Object.values(KINDS).includes(kind) && message.length < MOST_CHARACTERS
    ? [{ kind, status: type, reason, message: general(message) }]
    : [];
}

/** What is the same for all objects: names, addresses, times and numbers are replaced by marks. */
export function generalised(message: string, namespace?: string): string {
  const marks: readonly [RegExp, string][] = [
    [/"[^"]*"/g, '"…"'],
    [/"…"(, "…"){2,}/g, '"…", "…"'],
    [/\bv\d+\.\d+\.\d+/g, "<version>"],
    [/(?<= with the tags )[^:]+/g, "<tags>"],
    [/(?<= failed \()\w+(?=\))/g, "<reason>"],
    [/(?<= not this control plane's: )[^;]+/g, "<name>"],
    [/\b[a-z+]+:\/\/[^\s;,)"]*[^\s;,.)":]/g, "<url>"],
    [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>"],
    [new RegExp(namespace ? `\\b${namespace}\\b` : "$^", "g"), "<namespace>"],
    [/(?<=instance=|-by=\w+\/|kubectl.* annotate \S+ |kubectl.* delete \S+ (?=[a-z]))[^\s.]+/g, "<name>"],
    [/(?<=control-plane=)[^\s,]+/g, "<name>"],
    [/(?<=belongs to ).*?(?= and )/g, "<owner>"],
    [/(?<= -n )\S+/g, "<namespace>"],
    [/(?<=kubectl -n \S+ logs )\S+/g, "<name>"],
    [/^\(combined from similar events\): /, ""],
    [/(?<=provisionerkeys\/)[^\s/]+/g, "<name>"],
    [/\b\d+(\.\d+){3}(:\d+)?/g, "<ip>"],
    [/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, "<id>"],
    [/(?<=Waiting for )(provisioner|proxy)\/[^\s.,]+/g, "<name>"],
    [/(?<=took )\d+ (min \d+ )?s, \d+ (min \d+ )?s(?= of it)/g, "<time>, <time>"],
    [/\b\d+\b/g, "<n>"],
  ];
  return marks.reduce((text, [pattern, mark]) => text.replace(pattern, mark), message);
}

/** Where `make messages` gathers what all tests saw. */
const COLLECTION = process.env.COLLECT_MESSAGES;
const collected = new Set<string>();

/** Adds what an operator wrote to the collection, if one is made. */
export function collectMessages(requests: readonly SentRequest[]): void {
  if (!COLLECTION) return;
  const lines = messagesIn(requests).map((message) => JSON.stringify(message));
  const fresh = [...new Set(lines)].filter((line) => !collected.has(line));
  for (const line of fresh) collected.add(line);
  if (fresh.length > 0) appendFileSync(COLLECTION, `${fresh.join("\n")}\n`);
}
