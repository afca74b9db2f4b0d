import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Somebody the API server knows, by bearer token. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly token: string;
  /** A kubeconfig file that makes any client this identity. */
  readonly kubeconfig: string;
}

/** Who exists in a local cluster; only `admin` is above RBAC. */
export interface Identities {
  readonly admin: Identity;
  /** The service account the operator runs as; it may do what its ClusterRole says, nothing more. */
  readonly operator: Identity;
  /** For a second replica whose requests an audit log must distinguish from the first's; it has no role by itself. */
  readonly replica: Identity;
  readonly controllerManager: Identity;
}

/** Which service account an operator runs as. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

const DEFAULT_OPERATOR: ServiceAccountName = { namespace: "operator-system", name: "operator" };

/** Invents the identities of one cluster; their files live in `dir`. */
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

/** Writes the token file that makes the API server know them. */
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
