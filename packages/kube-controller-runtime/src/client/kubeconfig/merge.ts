import { KubeconfigError } from "../kubeconfig-error.ts";
import { type ClusterSettings, clusterSettings } from "./cluster.ts";
import type { Entry, KubeconfigFile } from "./file.ts";
import { type UserSettings, userSettings } from "./user.ts";

/** Everything that is needed to connect. */
export interface Settings {
  readonly cluster: ClusterSettings;
  readonly user: UserSettings;
  /** The default namespace. */
  readonly namespace: string | undefined;
}

/**
 * The cluster and the user of the given context, or of the current one. Files are merged like in client-go:
 * the first entry with a name wins, the first current-context wins, and paths are relative to the entry's own
 * file.
 */
export function currentSettings(files: readonly KubeconfigFile[], named?: string): Settings {
  const paths = files.map(({ path }) => path).join(", ");
  const chosen = files.find(({ currentContext }) => currentContext !== undefined);
  const name = named ?? chosen?.currentContext;
  if (name === undefined)
    throw new KubeconfigError(
      `no Kubernetes cluster is configured: ${paths || "the kubeconfig"} has no current-context; set --kubeconfig or KUBECONFIG`,
    );
  const context = entryOf(files, "contexts", name);
  if (context) return settingsOf(files, context);
  if (named !== undefined) throw new KubeconfigError(`context "${named}" does not exist in ${paths}`);
  throw new KubeconfigError(`current-context of kubeconfig ${chosen?.path} does not exist in ${paths}`);
}

function settingsOf(files: readonly KubeconfigFile[], { fields }: Entry): Settings {
  const cluster = entryOf(files, "clusters", fields.required("cluster"));
  if (!cluster) throw fields.refuse("cluster", "does not exist in the kubeconfig");
  const where = { cluster: clusterSettings(cluster), namespace: fields.text("namespace") };
  const userName = fields.text("user");
  if (userName === undefined) return { ...where, user: { impersonation: {} } };
  const user = entryOf(files, "users", userName);
  if (!user) throw fields.refuse("user", "does not exist in the kubeconfig");
  return { ...where, user: userSettings(user) };
}

function entryOf(
  files: readonly KubeconfigFile[],
  list: "clusters" | "users" | "contexts",
  name: string,
): Entry | undefined {
  return files.find((file) => file[list].has(name))?.[list].get(name);
}
