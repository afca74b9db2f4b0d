import { isDeepStrictEqual } from "node:util";
import { groupOf, type Kind, type KubeObject, keyOf, type ObjectRef, refOf, type Stored } from "../object.ts";
import { controllerOf } from "../owner.ts";

/** The object that owns children. */
export interface Owner {
  readonly kind: Kind;
  readonly object: Stored<KubeObject>;
  /**
   * On every child of the owner, and on no other object: they identify a child that has lost its controller
   * reference.
   */
  readonly labels: Readonly<Record<string, string>>;
}

/** The annotations of one operator that record ownership. */
export interface OwnershipMarks {
  /** Set by a user: `<kind>/<name>` of the object that may adopt this one. */
  readonly handOver: string;
  /** Set on a child in another namespace, where an owner reference is not possible: the owner's UID. */
  readonly ownerUid: string;
  /** Set on every child: a hash of what was applied last. */
  readonly applied: string;
}

/**
 * The relation of an object to an owner:
 * - `ours`: it refers to the owner's UID;
 * - `earlier`: it refers to an earlier object with the owner's kind and name, as after a restore from a
 *   backup;
 * - `orphan`: it has the labels of the owner's children and no controller;
 * - `handedOver`: a user who may edit it allows the owner to adopt it;
 * - `foreign`: anything else. It must not be changed.
 */
export type Ownership =
  | { readonly is: "ours" | "earlier" | "orphan" | "handedOver" }
  | { readonly is: "foreign"; readonly holder: string };

/** Classifies an existing object. A controller reference takes precedence over labels and annotations. */
export function ownershipOf(present: Stored<KubeObject>, owner: Owner, marks: OwnershipMarks): Ownership {
  const tie = isCrossNamespace(present, owner)
    ? tieByAnnotation(present, owner, marks)
    : tieByController(present, owner);
  if (tie) return tie;
  const isFree = controllerOf(present) === undefined;
  if (isFree && isHandedOver(present, owner, marks)) return { is: "handedOver" };
  return { is: "foreign", holder: holderOf(present) };
}

/** Whether an object can't have an owner reference, because it is in another namespace. */
export function isCrossNamespace(object: KubeObject, { object: owner }: Pick<Owner, "object">): boolean {
  const { namespace } = owner.metadata;
  return namespace !== undefined && object.metadata?.namespace !== namespace;
}

function tieByController(present: Stored<KubeObject>, owner: Owner): Ownership | undefined {
  const controller = controllerOf(present);
  if (!controller) return hasLabels(present, owner) ? { is: "orphan" } : undefined;
  if (controller.uid === owner.object.metadata.uid) return { is: "ours" };
  const isNamesake =
    groupOf(controller) === groupOf(owner.kind) &&
    controller.kind === owner.kind.kind &&
    controller.name === owner.object.metadata.name;
  return isNamesake ? { is: "earlier" } : undefined;
}

/** The UID alone identifies a child whose labels were removed; a different UID needs the labels too. */
function tieByAnnotation(
  present: Stored<KubeObject>,
  owner: Owner,
  marks: OwnershipMarks,
): Ownership | undefined {
  const uid = present.metadata.annotations?.[marks.ownerUid];
  if (uid === undefined || controllerOf(present)) return undefined;
  if (uid === owner.object.metadata.uid) return { is: "ours" };
  return hasLabels(present, owner) ? { is: "earlier" } : undefined;
}

function hasLabels({ metadata }: Stored<KubeObject>, { labels }: Owner): boolean {
  return Object.entries(labels).every(([name, value]) => metadata.labels?.[name] === value);
}

function isHandedOver({ metadata }: Stored<KubeObject>, owner: Owner, { handOver }: OwnershipMarks): boolean {
  const [kind = "", name, ...rest] = metadata.annotations?.[handOver]?.split("/") ?? [];
  const isKind = kind.toLowerCase() === owner.kind.kind.toLowerCase();
  return isKind && name === owner.object.metadata.name && rest.length === 0;
}

function holderOf(present: Stored<KubeObject>): string {
  const controller = controllerOf(present);
  if (controller) return `${controller.kind} "${controller.name}"`;
  const release = present.metadata.annotations?.["meta.helm.sh/release-name"];
  if (release) return `Helm release "${release}"`;
  const manager = present.metadata.labels?.["app.kubernetes.io/managed-by"];
  return manager ? `another client (managed by "${manager}")` : "another client";
}

/** Why an object can't be adopted although it is handed over; `undefined` if it can. */
function obstacleTo(present: Stored<KubeObject>, desired: KubeObject): string | undefined {
  const [before, after] = [present, desired] as { spec?: { selector?: unknown }; data?: object }[];
  if (desired.kind === "Secret") {
    const wanted = Object.keys(after?.data ?? {});
    const others = Object.keys(before?.data ?? {}).filter((key) => !wanted.includes(key));
    if (others.length > 0) return "its data is different";
  }
  // Among the kinds with label selectors, only a Service has a mutable one.
  const isFixed = desired.kind !== "Service" && after?.spec?.selector !== undefined;
  if (isFixed && !isDeepStrictEqual(before?.spec?.selector, after?.spec?.selector))
    return "its selector is different and immutable";
  return undefined;
}

/** An object that has a child's name but belongs to another owner. */
export interface ForeignObject {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly holder: string;
  /** Why it can't be handed over in its current state. */
  readonly obstacle?: string | undefined;
}

/** Names of children are taken by objects of other owners, which were not changed. */
export class AlreadyOwnedError extends Error {
  override readonly name = "AlreadyOwnedError";
  readonly objects: readonly [ForeignObject, ...ForeignObject[]];

  constructor(objects: AlreadyOwnedError["objects"]) {
    super(objects.map(describeForeign).join("; "));
    this.objects = objects;
  }
}

/** One sentence without its period: which object, its owner, and that it is not changed. */
export function describeForeign({ kind, ref, holder, obstacle }: ForeignObject): string {
  const why = obstacle ? `, and can't be handed over because ${obstacle}` : "";
  return `${kind.kind} "${keyOf(ref)}" belongs to ${holder} and is left unchanged${why}`;
}

/** Throws `AlreadyOwnedError` unless the owner may make this object its child `desired`. */
export function refuseForeign(
  kind: Kind,
  { present, desired, owner }: { present: Stored<KubeObject>; desired: KubeObject; owner: Owner },
  marks: OwnershipMarks,
): Exclude<Ownership["is"], "foreign"> {
  const ownership = ownershipOf(present, owner, marks);
  const ref = refOf(present);
  if (ownership.is === "foreign") throw new AlreadyOwnedError([{ kind, ref, holder: ownership.holder }]);
  const obstacle =
    ownership.is === "handedOver" ? obstacleTo(present, { ...desired, kind: kind.kind }) : undefined;
  if (obstacle) throw new AlreadyOwnedError([{ kind, ref, holder: holderOf(present), obstacle }]);
  return ownership.is;
}

/** Waits for all, even if some fail: reports all foreign objects together, after any other failure. */
export async function allOf<R>(work: readonly Promise<R>[]): Promise<R[]> {
  const results: R[] = [];
  const foreign: ForeignObject[] = [];
  for (const settled of await Promise.allSettled(work)) {
    if (settled.status === "fulfilled") results.push(settled.value);
    else if (settled.reason instanceof AlreadyOwnedError) foreign.push(...settled.reason.objects);
    else throw settled.reason;
  }
  const [first, ...more] = foreign;
  if (first) throw new AlreadyOwnedError([first, ...more]);
  return results;
}
