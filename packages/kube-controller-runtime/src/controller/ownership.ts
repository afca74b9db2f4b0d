import { isDeepStrictEqual } from "node:util";
import { groupOf, type Kind, type KubeObject, keyOf, type ObjectRef, refOf, type Stored } from "../object.ts";
import { controllerOf } from "../owner.ts";

/** The object on whose behalf children are made. */
export interface Owner {
  readonly kind: Kind;
  readonly object: Stored<KubeObject>;
  /** On every child, and on nobody else's: by them a child that has lost its controller is recognized. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The annotations of one operator, by which objects say whose they are. */
export interface OwnershipMarks {
  /** Set by a person: `<kind>/<name>` of the object that may take this one over. */
  readonly handOver: string;
  /** Set on a child in another namespace, where no owner reference is possible: the owner's uid. */
  readonly ownerUid: string;
  /** Set on every child: a hash of what was applied last. */
  readonly applied: string;
}

/**
 * Whose an object is, as far as one owner is concerned:
 * - `ours`: tied to the owner by its uid;
 * - `earlier`: tied to an earlier object of the owner's kind and name, as after a restore from a backup;
 * - `orphan`: it has the labels of the owner's children and no controller at all;
 * - `handedOver`: somebody who may edit it says that the owner may have it;
 * - `foreign`: anything else. It must not be changed in any field.
 */
export type Standing =
  | { readonly is: "ours" | "earlier" | "orphan" | "handedOver" }
  | { readonly is: "foreign"; readonly holder: string };

/** Classifies an object that exists. A controller counts for more than any label or annotation. */
export function standingOf(present: Stored<KubeObject>, owner: Owner, marks: OwnershipMarks): Standing {
  const tie = isAbroad(present, owner)
    ? tieByAnnotation(present, owner, marks)
    : tieByController(present, owner);
  if (tie) return tie;
  const isFree = controllerOf(present) === undefined;
  if (isFree && isHandedOver(present, owner, marks)) return { is: "handedOver" };
  return { is: "foreign", holder: holderOf(present) };
}

/** Whether an object can't carry a reference to the owner, because it is in another namespace. */
export function isAbroad(object: KubeObject, { object: owner }: Pick<Owner, "object">): boolean {
  const { namespace } = owner.metadata;
  return namespace !== undefined && object.metadata?.namespace !== namespace;
}

function tieByController(present: Stored<KubeObject>, owner: Owner): Standing | undefined {
  const controller = controllerOf(present);
  if (!controller) return hasLabels(present, owner) ? { is: "orphan" } : undefined;
  if (controller.uid === owner.object.metadata.uid) return { is: "ours" };
  const isNamesake =
    groupOf(controller) === groupOf(owner.kind) &&
    controller.kind === owner.kind.kind &&
    controller.name === owner.object.metadata.name;
  return isNamesake ? { is: "earlier" } : undefined;
}

/** The uid alone ties a child whose labels somebody took away; another uid is an earlier one only with the labels. */
function tieByAnnotation(
  present: Stored<KubeObject>,
  owner: Owner,
  marks: OwnershipMarks,
): Standing | undefined {
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
  return manager ? `somebody else (managed by "${manager}")` : "somebody else";
}

/** Why an object can't be taken over although somebody hands it over; `undefined` when it can. */
function obstacleTo(present: Stored<KubeObject>, desired: KubeObject): string | undefined {
  const [before, after] = [present, desired] as { spec?: { selector?: unknown }; data?: object }[];
  if (desired.kind === "Secret") {
    const wanted = Object.keys(after?.data ?? {});
    const others = Object.keys(before?.data ?? {}).filter((key) => !wanted.includes(key));
    if (others.length > 0) return "it holds other data";
  }
  // Of the kinds with label selectors only a Service may change its own.
  const isFixed = desired.kind !== "Service" && after?.spec?.selector !== undefined;
  if (isFixed && !isDeepStrictEqual(before?.spec?.selector, after?.spec?.selector))
    return "its selector is another and can't be changed";
  return undefined;
}

/** An object that has a child's name and is not ours. */
export interface ForeignObject {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly holder: string;
  /** Why it can't be handed over as it is. */
  readonly obstacle?: string | undefined;
}

/** Children's names are taken by objects that belong to somebody else. They were not touched. */
export class NotOursError extends Error {
  override readonly name = "NotOursError";
  readonly objects: readonly [ForeignObject, ...ForeignObject[]];

  constructor(objects: NotOursError["objects"]) {
    super(objects.map(describeForeign).join("; "));
    this.objects = objects;
  }
}

/** One sentence without its full stop: which object, whose it is, and that it stays as it is. */
export function describeForeign({ kind, ref, holder, obstacle }: ForeignObject): string {
  const why = obstacle ? `, and can't be handed over because ${obstacle}` : "";
  return `${kind.kind} "${keyOf(ref)}" belongs to ${holder} and is left as it is${why}`;
}

/** Throws `NotOursError` unless the owner may make this object its child `desired`. */
export function refuseForeign(
  kind: Kind,
  { present, desired, owner }: { present: Stored<KubeObject>; desired: KubeObject; owner: Owner },
  marks: OwnershipMarks,
): Exclude<Standing["is"], "foreign"> {
  const standing = standingOf(present, owner, marks);
  const ref = refOf(present);
  if (standing.is === "foreign") throw new NotOursError([{ kind, ref, holder: standing.holder }]);
  const obstacle =
    standing.is === "handedOver" ? obstacleTo(present, { ...desired, kind: kind.kind }) : undefined;
  if (obstacle) throw new NotOursError([{ kind, ref, holder: holderOf(present), obstacle }]);
  return standing.is;
}

/** Waits for all, also when some fail: what is not ours is reported together, any other failure comes first. */
export async function allOf<R>(work: readonly Promise<R>[]): Promise<R[]> {
  const results: R[] = [];
  const foreign: ForeignObject[] = [];
  for (const settled of await Promise.allSettled(work)) {
    if (settled.status === "fulfilled") results.push(settled.value);
    else if (settled.reason instanceof NotOursError) foreign.push(...settled.reason.objects);
    else throw settled.reason;
  }
  const [first, ...more] = foreign;
  if (first) throw new NotOursError([first, ...more]);
  return results;
}
