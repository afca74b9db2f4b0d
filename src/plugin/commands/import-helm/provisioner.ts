import { DEFAULT_CLUSTER_DOMAIN } from "../../../operator/names.ts";
import { defined, unlessEmpty } from "../../../operator/normalize.ts";
import { provisionerAccount } from "./chart-defaults.ts";
import { CONTROL_PLANE_NAME } from "./control-plane.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import {
  accountFields,
  extraArgs,
  named,
  podFields,
  unlessNothing,
  type Variables,
  variables,
} from "./pods.ts";
import type { Release } from "./release.ts";
import type { ValuesReader } from "./values.ts";

const ADDRESSES = { CODER_PROMETHEUS_ADDRESS: "0.0.0.0:2112" };

/** Variables that set the key, the organization and the tags of a daemon. */
const OF_THE_KEY: Readonly<Record<string, string>> = {
  CODER_PROVISIONER_DAEMON_KEY: "Omitted: the operator creates the key.",
  CODER_PROVISIONER_DAEMON_PSK: "Omitted: the operator creates a key, and a daemon accepts only one of both.",
  CODER_PROVISIONERD_TAGS: "Tags belong to the key: they are in spec.tags if the value is plain text.",
  CODER_ORGANIZATION:
    "The organization belongs to the key: it is in spec.organizationName if the value is plain text.",
};

export function provisionerSpec(reader: ValuesReader, release: Release): JsonObject {
  const env = variables(reader, ADDRESSES);
  remarkAboutKey(reader, env);
  const organization = named(env, "CODER_ORGANIZATION")?.value;
  return defined({
    controlPlaneRef: { name: CONTROL_PLANE_NAME },
    organizationName: typeof organization === "string" ? organization : undefined,
    tags: unlessNothing({ ...tagsIn(env), ...texts(reader.map("provisionerDaemon.tags")) }),
    ...podFields(reader, release),
    ...ownAccount(reader),
    extraArgs: extraArgs(reader, ["provisionerd", "start"]),
    extraEnv: unlessEmpty(env.filter((variable) => !isOfKey(variable) && !isOwnCoderd(variable, release))),
    terminationGracePeriodSeconds: reader.number("provisionerDaemon.terminationGracePeriodSeconds"),
  });
}

/** The chart's own account stays with the release, so that old and new daemons can run side by side. */
function ownAccount(reader: ValuesReader): JsonObject {
  const fields = accountFields(reader, provisionerAccount);
  const { serviceAccount } = fields as { readonly serviceAccount?: JsonObject };
  if (!serviceAccount) return fields;
  const name = reader.text("coder.serviceAccount.name");
  if (serviceAccount.disableCreate !== true) {
    reader.remark(
      "coder.serviceAccount.name",
      "The ServiceAccount belongs to the release. Hand it over with the annotation coder.com/adopt-by: CoderProvisioner/NAME, or choose another name.",
    );
  }
  return { ...fields, serviceAccount: { ...serviceAccount, name } };
}

function remarkAboutKey(reader: ValuesReader, env: Variables): void {
  const path = "provisionerDaemon";
  const key = reader.text(`${path}.keySecretName`);
  const preShared = reader.text(`${path}.pskSecretName`);
  reader.text(`${path}.keySecretKey`);
  if (key !== undefined) {
    reader.remark(
      `${path}.keySecretName`,
      "The operator creates its own key. Only coderd knows the tags and the organization of the old key: add them to spec.tags and spec.organizationName.",
    );
  } else if (preShared !== undefined) {
    reader.remark(
      `${path}.pskSecretName`,
      "The operator creates a key for the pool, so no pre-shared key is needed.",
    );
  }
  for (const [name, text] of Object.entries(OF_THE_KEY)) {
    if (named(env, name)) reader.remark(`coder.env.${name}`, text);
  }
  if (named(env, "CODER_URL")) {
    reader.remark(
      "coder.env.CODER_URL",
      "controlPlaneRef names the CoderControlPlane in the same namespace that the daemons connect to: check that it is the one at this URL.",
    );
  }
}

function isOfKey(variable: Json): boolean {
  return isObject(variable) && Object.hasOwn(OF_THE_KEY, `${variable.name}`);
}

/** The operator sets the in-cluster address by itself; another address is kept. */
function isOwnCoderd(variable: Json, { namespace }: Release): boolean {
  if (!isObject(variable) || variable.name !== "CODER_URL") return false;
  const domains = ["", `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.${DEFAULT_CLUSTER_DOMAIN}`];
  const host = URL.parse(`${variable.value}`)?.hostname;
  return domains.some((domain) => host === `${CONTROL_PLANE_NAME}${domain}`);
}

/** Parses `a=b,c=d` like the daemon. */
function tagsIn(env: Variables): Record<string, string> {
  const value = named(env, "CODER_PROVISIONERD_TAGS")?.value;
  if (typeof value !== "string") return {};
  const pairs = value.split(",").map((pair) => pair.split("="));
  return Object.fromEntries(pairs.filter(([name]) => name).map(([name, ...rest]) => [name, rest.join("=")]));
}

function texts(map: JsonObject | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).map(([name, value]) => [name, `${value}`]));
}
