import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A user of the API server, with a bearer token. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly token: string;
  /** A kubeconfig file for this identity. */
  readonly kubeconfig: string;
}

/** The identities of a local cluster; only `admin` bypasses RBAC. */
export interface Identities {
  readonly admin: Identity;
  /** The service account of the operator; it has the permissions of its ClusterRole only. */
  readonly operator: Identity;
  /** For a second replica whose requests can be distinguished in the audit log; it has no role by default. */
  readonly replica: Identity;
  readonly controllerManager: Identity;
}

/** The service account of the operator. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

const DEFAULT_OPERATOR: ServiceAccountName = { namespace: "operator-system", name: "operator" };

/** Creates the identities of one cluster; their files are in `dir`. */
export function newIdentities(dir: string, operator = DEFAULT_OPERATOR): Identities {
  const identity = (name: string, user: string, groups: string[]): Identity => ({
    user,
    groups,
    token: randomBytes(16).toString("hex"),
    kubeconfig: join(dir, `${name}.kubeconfig`),
  });
  const { namespace, name } = operator;
  return {
    admin: identity("admin", "admin", ["system:masters"]),
    operator: identity("operator", `system:serviceaccount:${namespace}:${name}`, [
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
    ]),
    replica: identity("replica", `${name}-replica`, []),
    controllerManager: identity("controller-manager", "system:kube-controller-manager", []),
  };
}

/** Writes the token file for the API server. */
export function writeTokenFile(file: string, identities: Identities): void {
  const lines = Object.values(identities).map(
    ({ token, user, groups }: Identity) => `${token},${user},${user},"${groups.join(",")}"\n`,
  );
  writeFileSync(file, lines.join(""), { mode: 0o600 });
}

/** Writes the kubeconfig of an identity; JSON is YAML, so no YAML writer is needed. */
export function writeKubeconfig({ kubeconfig, token }: Identity, server: string, caFile: string): void {
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "local", cluster: { server, "certificate-authority": caFile } }],
    users: [{ name: "local", user: { token } }],
    contexts: [{ name: "local", context: { cluster: "local", user: "local" } }],
    "current-context": "local",
  };
  writeFileSync(kubeconfig, JSON.stringify(content, undefined, 2), { mode: 0o600 });
}

/** Writes the key that signs service-account tokens. */
export function writeServiceAccountKey(file: string): void {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(file, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
}
