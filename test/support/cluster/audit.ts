import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** Everything but health checks and the server's talk with itself, without bodies. */
const POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "None", users: ["system:apiserver"] },
    { level: "None", nonResourceURLs: ["/readyz*", "/livez*", "/healthz*"] },
    { level: "Metadata" },
  ],
};

/** One request as the API server saw it. */
export interface AuditRequest {
  /** Long answers such as watches are reported twice: `ResponseStarted`, then `ResponseComplete`. */
  readonly stage: string;
  readonly verb: string;
  readonly user: string;
  readonly userAgent: string;
  readonly uri: string;
  readonly resource: string | undefined;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly code: number | undefined;
  /** When the server received it. */
  readonly at: Date;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly requestURI: string;
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** Writes the audit policy of a local cluster; JSON is YAML. */
export function writeAuditPolicy(file: string): void {
  writeFileSync(file, JSON.stringify(POLICY));
}

/** Reads every request logged so far, oldest first; a line still being written is left for later. */
export async function readAuditLog(file: string): Promise<AuditRequest[]> {
  const text = await readFile(file, "utf8");
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  return complete
    .split("\n")
    .filter(Boolean)
    .map((line) => toRequest(JSON.parse(line) as AuditEvent));
}

function toRequest(event: AuditEvent): AuditRequest {
  return {
    stage: event.stage,
    verb: event.verb,
    user: event.user.username,
    userAgent: event.userAgent ?? "",
    uri: event.requestURI,
    resource: event.objectRef?.resource,
    subresource: event.objectRef?.subresource,
    namespace: event.objectRef?.namespace,
    name: event.objectRef?.name,
    code: event.responseStatus?.code,
    at: new Date(event.requestReceivedTimestamp),
  };
}
