import { writeFileSync } from "node:fs";
import { open } from "node:fs/promises";

/** Everything except health checks and the server's own requests, without bodies. */
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

/** One request in the audit log. */
export interface AuditRequest {
  /** Long-running requests such as watches are logged twice: `ResponseStarted`, then `ResponseComplete`. */
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

const NEWLINE = 0x0a;

/** The audit log of an API server. Every line is parsed once, regardless of the number of calls. */
export class AuditLog {
  readonly #file: string;
  readonly #requests: AuditRequest[] = [];
  #offset = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** Every request logged so far, oldest first; an incomplete line is read later. */
  async read(): Promise<AuditRequest[]> {
    this.#reading = this.#reading.then(() => this.#readOn());
    await this.#reading;
    return [...this.#requests];
  }

  async #readOn(): Promise<void> {
    await using file = await open(this.#file);
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - this.#offset), {
      position: this.#offset,
    });
    const complete = buffer.subarray(0, buffer.lastIndexOf(NEWLINE, bytesRead - 1) + 1);
    this.#offset += complete.length;
    // One by one: the log of a whole run has more lines than a call may have arguments.
    for (const line of complete.toString("utf8").split("\n"))
      if (line) this.#requests.push(toRequest(JSON.parse(line) as AuditEvent));
  }
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
