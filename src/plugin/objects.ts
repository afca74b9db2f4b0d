import { find, isForbidden, type Kind, type Pod, type Stored } from "kube-controller-runtime";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../api/v1alpha1/kinds.ts";
import { managedByUs } from "../operator/managed-objects.ts";
import { APPS, identityOf, type Parent } from "../operator/names.ts";
import { podOwner, podOwnerOfLabels } from "../operator/workload/pods/owned-pods.ts";
import type { Cluster } from "./cluster.ts";
import { CommandError, type Context } from "./command.ts";
import { Gaps } from "./gaps.ts";

/** An object of any of the operator's kinds. */
export type OurObject =
  | CoderControlPlane
  | CoderProvisioner
  | CoderWorkspaceProxy
  | CoderOrganization
  | CoderGroup;

interface NamedKind {
  readonly kind: Kind<OurObject>;
  /** Names for the command line, the preferred one first. */
  readonly names: readonly string[];
}

export const OUR_KINDS: readonly NamedKind[] = [
  { kind: CoderControlPlane, names: ["controlplane", "ccp", "codercontrolplane", "codercontrolplanes"] },
  { kind: CoderProvisioner, names: ["provisioner", "cprov", "coderprovisioner", "coderprovisioners"] },
  { kind: CoderWorkspaceProxy, names: ["proxy", "cwp", "coderworkspaceproxy", "coderworkspaceproxies"] },
  {
    kind: CoderOrganization,
    names: ["organization", "corg", "coderorganization", "coderorganizations"],
  },
  { kind: CoderGroup, names: ["group", "cgrp", "codergroup", "codergroups"] },
];

/** Selects the objects that the operator created. */
export const OUR_CHILDREN = { labelSelector: managedByUs.labelSelector };

/** Selects the events of the custom resources, which the operator records. */
export const OUR_EVENTS = { fieldSelector: `involvedObject.apiVersion=${CoderControlPlane.apiVersion}` };

/** A custom resource with its kind. */
export interface Found {
  readonly kind: Kind<OurObject>;
  readonly object: Stored<OurObject>;
}

/** `provisioner/linux`, as the user types it, for a kind, an object or the subject of an event. */
export function typedName(
  { kind = "" }: { readonly kind?: string },
  { name = "" }: { readonly name?: string },
) {
  const ours = OUR_KINDS.find((named) => named.kind.kind === kind);
  return `${ours?.names[0] ?? kind.toLowerCase()}/${name}`;
}

/** The application of the pods of a kind; `undefined` if its objects have no pods. */
export function appOf({ kind }: Pick<Kind, "kind">): Parent["app"] | undefined {
  return kind in APPS ? APPS[kind as keyof typeof APPS] : undefined;
}

/** Finds the pods of an object by their labels. */
export function podsByOwner(pods: readonly Stored<Pod>[]) {
  const owned = Map.groupBy(pods, podOwnerOfLabels);
  return ({ kind, object }: Found): readonly Stored<Pod>[] => {
    const app = appOf(kind);
    return (app && owned.get(podOwner({ app, identity: identityOf(object) }))) ?? [];
  };
}

/**
 * The object that `kind/name` refers to, or a name alone if only one kind has it. Throws if there is none or
 * several, or if the user may not read any.
 */
export async function findObject(cluster: Cluster, typed: string): Promise<Found> {
  const candidates = await findObjects(cluster, typed);
  const [first, ...others] = candidates;
  const where = `in namespace "${cluster.homeNamespace}"`;
  if (!first) throw new CommandError(`There is no "${typed}" ${where}.`);
  if (others.length === 0) return first;
  const names = candidates.map(({ kind, object }) => typedName(kind, object.metadata));
  throw new CommandError(`Several objects ${where} have that name: use ${names.join(" or ")}.`);
}

async function findObjects({ client, homeNamespace }: Cluster, typed: string): Promise<Found[]> {
  const slash = typed.indexOf("/");
  const name = typed.slice(slash + 1);
  const kinds = kindsNamed(slash < 0 ? undefined : typed.slice(0, slash));
  const refused: string[] = [];
  const found = await Promise.all(
    kinds.map(async ({ kind }) => {
      try {
        const object = await find(client, kind, { namespace: homeNamespace, name });
        return object && { kind, object };
      } catch (error) {
        if (!isForbidden(error)) throw error;
        refused.push(kind.plural);
        return undefined;
      }
    }),
  );
  const present = found.filter((each) => each !== undefined);
  if (present.length === 0 && refused.length > 0)
    throw new CommandError(`You may not get ${refused.join(", ")} in namespace "${homeNamespace}".`);
  return present;
}

function kindsNamed(name: string | undefined): readonly NamedKind[] {
  if (name === undefined) return OUR_KINDS;
  const kinds = OUR_KINDS.filter(({ names }) => names.includes(name.toLowerCase()));
  if (kinds.length > 0) return kinds;
  throw new CommandError(
    `Unknown kind "${name}"; use one of ${OUR_KINDS.map(({ names }) => names[0]).join(", ")}.`,
  );
}

/** For completion: all objects as `kind/name`, or the names of one kind. */
export function completeObjects(only?: Kind): (context: Context) => Promise<readonly string[]> {
  return async (context) => {
    const { client, homeNamespace: namespace } = await context.connect();
    const gaps = new Gaps();
    const kinds = OUR_KINDS.filter(({ kind }) => !only || kind.kind === only.kind);
    const lists = await Promise.all(
      kinds.map(async ({ kind }) => {
        const items = (await gaps.list(client, kind, { namespace })) ?? [];
        return items.map(({ metadata }) => (only ? metadata.name : typedName(kind, metadata)));
      }),
    );
    return lists.flat();
  };
}
