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

/** What runs now, and of which kinds that could be found out. */
export interface Running {
  readonly objects: readonly KubeObject[];
  readonly kinds: readonly string[];
}

/** Reads the objects of a release as they are in the cluster. What may not be read is left out of the comparison. */
export async function running({ client }: Cluster, release: Release, gaps: Gaps): Promise<Running> {
  const { namespace } = release;
  const readings = objectsOf(release).map(async ({ kind, name }) => {
    if (name === undefined) return { kind: kind.kind, object: undefined };
    const what = `get ${kind.plural} in namespace "${namespace}"`;
    const found = await gaps.read(
      what,
      find(client, kind, { namespace, name }).then((object) => ({ object })),
    );
    return found && { kind: kind.kind, object: found.object && { ...found.object, kind: kind.kind } };
  });
  const read = (await Promise.all(readings)).filter((one) => one !== undefined);
  return {
    objects: read.map(({ object }) => object).filter((object) => object !== undefined),
    kinds: read.map(({ kind }) => kind),
  };
}

interface Named {
  readonly kind: Kind<KubeObject>;
  /** Absent: the chart does not make one with these values. */
  readonly name: string | undefined;
}

/** What the charts name their objects, whatever the release is called. */
function objectsOf({ values, given, chart }: Release): Named[] {
  const reader = new ValuesReader(values, given);
  const account = reader.text("coder.serviceAccount.name");
  const grants = reader.flag("coder.serviceAccount.workspacePerms") === true;
  const isServer = chart === "coder";
  const when = (made: boolean, name: string | undefined) => (made ? name : undefined);
  return [
    { kind: Deployment, name: reader.text("nameOverride") ?? (isServer ? "coder" : "coder-provisioner") },
    {
      kind: Service,
      name: when(isServer && reader.flag("coder.service.enable") === true, CONTROL_PLANE_NAME),
    },
    {
      kind: Ingress,
      name: when(isServer && reader.flag("coder.ingress.enable") === true, CONTROL_PLANE_NAME),
    },
    { kind: ServiceAccount, name: when(reader.flag("coder.serviceAccount.disableCreate") !== true, account) },
    { kind: Role, name: when(grants, `${account}-workspace-perms`) },
    { kind: RoleBinding, name: when(grants, account) },
  ];
}
