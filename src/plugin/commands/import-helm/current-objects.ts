import {
  Deployment,
  find,
  Ingress,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
} from "kube-controller-runtime";
import type { Cluster } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { CONTROL_PLANE_NAME } from "./control-plane.ts";
import type { Release } from "./release.ts";
import { ValuesReader } from "./values.ts";

/** The current objects, and the kinds that could be read. */
export interface CurrentObjects {
  readonly objects: readonly KubeObject[];
  readonly kinds: readonly string[];
}

/**
 * Reads the current objects of a release. Kinds that the user may not read are excluded from the comparison.
 */
export async function currentObjects(
  { client }: Cluster,
  release: Release,
  gaps: Gaps,
): Promise<CurrentObjects> {
  const { namespace } = release;
  const readings = objectsOf(release).map(async ([kind, name]) => {
    if (name === undefined) return { kind: kind.kind, object: undefined };
    const reading = find(client, kind, { namespace, name }).then((object) => ({ object }));
    const found = await gaps.read(`get ${kind.plural} in namespace "${namespace}"`, reading);
    return found && { kind: kind.kind, object: found.object && { ...found.object, kind: kind.kind } };
  });
  const read = (await Promise.all(readings)).filter((one) => one !== undefined);
  return {
    objects: read.map(({ object }) => object).filter((object) => object !== undefined),
    kinds: read.map(({ kind }) => kind),
  };
}

/** The objects that the charts create from these values, with their fixed names. */
function objectsOf({ values, given, chart }: Release): (readonly [Kind<KubeObject>, string | undefined])[] {
  const reader = new ValuesReader(values, given);
  const account = reader.text("coder.serviceAccount.name");
  const grants = reader.flag("coder.serviceAccount.workspacePerms");
  const isServer = chart === "coder";
  const when = (made: boolean | undefined, name: string | undefined) => (made ? name : undefined);
  return [
    [Deployment, reader.text("nameOverride") ?? (isServer ? "coder" : "coder-provisioner")],
    [Service, when(isServer && reader.flag("coder.service.enable"), CONTROL_PLANE_NAME)],
    [Ingress, when(isServer && reader.flag("coder.ingress.enable"), CONTROL_PLANE_NAME)],
    [ServiceAccount, when(!reader.flag("coder.serviceAccount.disableCreate"), account)],
    [Role, when(grants, `${account}-workspace-perms`)],
    [RoleBinding, when(grants, account)],
  ];
}
