import { access, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubeconfigError } from "../kubeconfig-error.ts";
import { readKubeconfig } from "./file.ts";
import { currentSettings, type Settings } from "./merge.ts";

export interface CredentialsSource {
  /** A kubeconfig file; defaults to `KUBECONFIG`, the service account and `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** A context of the kubeconfig; defaults to its current one. */
  readonly context?: string | undefined;
}

/** The environment of a process. */
export interface ProcessEnvironment {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Where Kubernetes mounts the token and the CA of a pod's service account. */
  readonly serviceAccount: string;
}

/** The environment of this process. */
export function processEnvironment(): ProcessEnvironment {
  return {
    env: process.env,
    home: homedir(),
    serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
  };
}

/** Finds settings in the order of `loadCredentials`. */
export async function loadSettings(
  { kubeconfig, context }: CredentialsSource,
  { env, home, serviceAccount }: ProcessEnvironment,
): Promise<Settings> {
  if (kubeconfig) return currentSettings([await readKubeconfig(kubeconfig)], context);
  if (env.KUBECONFIG) return currentSettings(await readExisting(env.KUBECONFIG), context);
  if (env.KUBERNETES_SERVICE_HOST && context === undefined) return inCluster(env, serviceAccount);
  const ofHome = join(home, ".kube", "config");
  if (await exists(ofHome)) return currentSettings([await readKubeconfig(ofHome)], context);
  throw new KubeconfigError("no Kubernetes cluster is configured: set --kubeconfig or KUBECONFIG");
}

/** Like kubectl, ignores missing files of a list. */
async function readExisting(list: string) {
  const paths = list.split(delimiter).filter((path) => path !== "");
  const present = [];
  for (const path of paths) if (await exists(path)) present.push(path);
  if (present.length === 0)
    throw new KubeconfigError(`KUBECONFIG does not name an existing file: ${paths.join(", ")}`);
  return Promise.all(present.map(readKubeconfig));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function inCluster(env: NodeJS.ProcessEnv, folder: string): Promise<Settings> {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port } = env;
  if (!port) throw new KubeconfigError("KUBERNETES_SERVICE_HOST is set without KUBERNETES_SERVICE_PORT");
  const where = "the service account";
  return {
    cluster: {
      server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
      authority: { field: "ca.crt", where, file: join(folder, "ca.crt") },
      skipVerification: false,
    },
    user: { token: { field: "token", where, file: join(folder, "token") }, impersonation: {} },
    namespace: await readFile(join(folder, "namespace"), "utf8").then(
      (text) => text.trim() || undefined,
      () => undefined,
    ),
  };
}
