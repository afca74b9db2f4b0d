import { KubeconfigError } from "../kubeconfig-error.ts";
import { type ClusterSettings, clusterSettings } from "./cluster.ts";
import type { Entry, KubeconfigFile } from "./file.ts";
import { type UserSettings, userSettings } from "./user.ts";

/** Everything that it takes to connect. */
export interface Settings {
  readonly cluster: ClusterSettings;
  readonly user: UserSettings;
  /** Where work is meant to happen when nobody says otherwise. */
  readonly namespace: string | undefined;
}

/**
 * The cluster and the user of the named context, the current one by default. As in client-go, the first file that has
 * an entry of a name gives all of it, the first that has a current context chooses, and relative paths begin at the
 * entry's own file.
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
  if (named !== undefined) throw new KubeconfigError(`there is no context "${named}" in ${paths}`);
  throw new KubeconfigError(`current-context of kubeconfig ${chosen?.path} names no context in ${paths}`);
}

function settingsOf(files: readonly KubeconfigFile[], { fields }: Entry): Settings {
  const cluster = entryOf(files, "clusters", fields.required("cluster"));
  if (!cluster) throw fields.refuse("cluster", "names no cluster of the kubeconfig");
  const where = { cluster: clusterSettings(cluster), namespace: fields.text("namespace") };
  const userName = fields.text("user");
  if (userName === undefined) return { ...where, user: { impersonation: {} } };
  const user = entryOf(files, "users", userName);
  if (!user) throw fields.refuse("user", "names no user of the kubeconfig");
  return { ...where, user: userSettings(user) };
}

function entryOf(
  files: readonly KubeconfigFile[],
  list: "clusters" | "users" | "contexts",
  name: string,
): Entry | undefined {
  return files.find((file) => file[list].has(name))?.[list].get(name);
}
