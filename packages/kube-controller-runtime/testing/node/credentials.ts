import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCertificateAuthority } from "../certificates.ts";
import { type Identity, writeKubeconfig, writeServiceAccountKey } from "../cluster/credentials.ts";
import { API_PORT, addresses, CLUSTER_DOMAIN, NODE_NAME } from "./addresses.ts";

/** The users of the node's cluster, with the roles that Kubernetes defines for them. */
const USERS = {
  admin: { user: "admin", groups: ["system:masters"] },
  "controller-manager": { user: "system:kube-controller-manager", groups: [] },
  scheduler: { user: "system:kube-scheduler", groups: [] },
  kubelet: { user: `system:node:${NODE_NAME}`, groups: ["system:nodes"] },
  proxy: { user: "system:kube-proxy", groups: [] },
} as const;

/** The user of the API server at the kubelet. */
export const KUBELET_CLIENT = "kube-apiserver-kubelet-client";

/** Credential files of the node's programs. */
export interface Credentials {
  readonly ca: string;
  readonly serving: KeyPair;
  readonly kubelet: KeyPair;
  readonly kubeletClient: KeyPair;
  readonly serviceAccountKey: string;
  readonly tokens: string;
  readonly identities: Readonly<Record<keyof typeof USERS, Identity>>;
}

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Creates the credentials of one node in `dir`. */
export function writeCredentials(dir: string): Credentials {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const authority = createCertificateAuthority("Node CA");
  const write = (name: string, content: string) => {
    writeFileSync(join(dir, name), content, { mode: 0o600 });
    return join(dir, name);
  };
  const keyPair = (name: string, names: readonly string[]): KeyPair => {
    const { cert, key } = authority.issue(names);
    return { cert: write(`${name}.crt`, cert), key: write(`${name}.key`, key) };
  };
  const ca = write("ca.crt", authority.cert);
  const identities = Object.fromEntries(
    Object.entries(USERS).map(([name, who]) => [name, identityOf(dir, name, who)]),
  ) as unknown as Credentials["identities"];
  for (const identity of Object.values(identities))
    writeKubeconfig(identity, `https://${addresses.node}:${API_PORT}`, ca);
  const serviceAccountKey = join(dir, "service-account.key");
  writeServiceAccountKey(serviceAccountKey);
  return {
    ca,
    serving: keyPair("apiserver", servingNames()),
    kubelet: keyPair("kubelet", [addresses.node, NODE_NAME]),
    kubeletClient: keyPair("kubelet-client", [KUBELET_CLIENT]),
    serviceAccountKey,
    tokens: write("tokens.csv", Object.values(identities).map(tokenLine).join("")),
    identities,
  };
}

function identityOf(dir: string, name: string, who: (typeof USERS)[keyof typeof USERS]): Identity {
  const token = randomBytes(16).toString("hex");
  return { ...who, token, kubeconfig: join(dir, `${name}.kubeconfig`) };
}

function servingNames(): string[] {
  const service = "kubernetes.default.svc";
  const names = ["kubernetes", "kubernetes.default", service, `${service}.${CLUSTER_DOMAIN}`, "localhost"];
  return [addresses.node, addresses.apiService, "127.0.0.1", ...names];
}

function tokenLine({ token, user, groups }: Identity): string {
  return `${token},${user},${user},"${groups.join(",")}"\n`;
}
