import { readFile } from "node:fs/promises";
import { isForbidden, Secret } from "kube-controller-runtime";
import { type Cluster, listAll } from "../../cluster.ts";
import { CommandError, EXIT } from "../../command.ts";
import { defaultValues } from "./chart-defaults.ts";
import { isObject, type JsonObject, withoutNulls } from "./json.ts";
import { type ChartName, decodeRelease, type Release, ReleaseError } from "./release.ts";
import { withValues } from "./values.ts";

/** The names that Helm allows for releases; safe in a selector. */
const RELEASE_NAME = /^[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?$/;
const CHART = /^(coder|provisioner)(?:@v?(\d[\w.+-]{0,63}))?$/;
/** Larger than any values file, and small enough to parse at once. */
const MAX_FILE_BYTES = 1024 * 1024;

export function checkedName(name: string): string {
  if (RELEASE_NAME.test(name)) return name;
  throw new CommandError(
    "A Helm release has at most 53 lower-case letters, digits, dots and dashes.",
    EXIT.usage,
  );
}

/** The deployed revision of a release, from the Secret in which Helm stores it. */
export async function releaseInCluster(
  { client, homeNamespace: namespace }: Cluster,
  name: string,
): Promise<Release> {
  const labelSelector = `owner=helm,status=deployed,name=${name}`;
  const fieldSelector = "type=helm.sh/release.v1";
  const secrets = await listAll(client, Secret, { namespace, labelSelector, fieldSelector }).catch(
    (error) => {
      if (!isForbidden(error)) throw error;
      throw new CommandError(
        `You may not list secrets in namespace "${namespace}", where Helm stores its releases. Ask for the output of "helm get values ${name}" and pass it with --values.`,
      );
    },
  );
  const revision = (labels: Readonly<Record<string, string>> = {}) => Number(labels.version) || 0;
  const [newest] = secrets.sort((a, b) => revision(b.metadata.labels) - revision(a.metadata.labels));
  const data = newest?.data?.release;
  if (data === undefined) {
    throw new CommandError(`Namespace "${namespace}" has no deployed Helm release "${name}" in a Secret.`);
  }
  return { ...decodeRelease(data), name, namespace };
}

/** The release that a values file would produce. */
export async function releaseInFile(
  file: string,
  chart: string,
  { name, namespace }: Pick<Release, "name" | "namespace">,
): Promise<Release> {
  const [, kind, version] = CHART.exec(chart) ?? [];
  if (kind === undefined) {
    throw new CommandError(
      "--values requires --chart coder or --chart provisioner, as in --chart coder@2.26.0.",
      EXIT.usage,
    );
  }
  const of = kind as ChartName;
  const values = await valuesIn(file);
  return {
    name,
    namespace,
    chart: of,
    version,
    appVersion: version,
    values: withValues(defaultValues[of], values),
    given: withoutNulls(values) as JsonObject,
  };
}

async function valuesIn(file: string): Promise<JsonObject> {
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} can't be read: ${cause.code ?? "unknown reason"}.`);
  });
  if (text.length > MAX_FILE_BYTES)
    throw new ReleaseError(`${file} is larger than 1 MiB, the limit for a values file`);
  const { parse } = await import("yaml");
  try {
    const values: unknown = parse(text, { logLevel: "error" }) ?? {};
    if (isObject(values)) return values;
  } catch {
    // The parser's own message quotes the text around the mistake.
  }
  throw new ReleaseError(`${file} does not contain a YAML map of values`);
}
