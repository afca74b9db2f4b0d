import {
  anyChange,
  type Caches,
  IngressClass,
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  type Stored,
} from "kube-controller-runtime";
import type { ExposeSpec } from "../../../api/v1alpha1/expose.ts";
import { firstOf } from "../../first-of.ts";
import { exposureOf } from "./expose.ts";

export const INGRESS_CLASS_INDEX = "ingressClass";
const NAMED = "named";

type Exposing = KubeObject & { readonly spec?: { readonly expose?: ExposeSpec } };

/** For the index: whether the Ingress of an object has a class. */
export function namesIngressClass({ spec }: Stored<Exposing>): string[] {
  const exposure = exposureOf(spec?.expose);
  return exposure.kind === "ingress" && exposure.className ? [NAMED] : [];
}

/** For `watches`: all objects with an ingress class, because the message lists the existing classes. */
export function objectsWithIngressClass<T extends KubeObject>(kind: Kind<T>) {
  return (_: Stored<IngressClass>, caches: Caches): ObjectKey[] =>
    caches.of(kind).byIndex(INGRESS_CLASS_INDEX, NAMED).map(keyOfObject);
}

/**
 * Ingress classes are cluster-scoped, so an operator with `--namespaces` may not be permitted to read them.
 */
export const ingressClassWatch = { when: anyChange, metadataOnly: true, mayBeForbidden: true } as const;

/** Sorted names of the ingress classes, or `undefined` if the operator is not permitted to read them. */
export function ingressClasses(caches: Caches): readonly string[] | undefined {
  const classes = caches.of(IngressClass);
  return classes.available ? [...classes.all()].map(({ metadata }) => metadata.name).sort() : undefined;
}

/** Message for a missing ingress class, or undefined if it exists or if this is unknown. */
export function missingIngressClass(
  className: string | undefined,
  existing: readonly string[] | undefined,
): string | undefined {
  if (className === undefined || !existing || existing.includes(className)) return undefined;
  const field = "spec.expose.ingress.className";
  if (existing.length === 0)
    return `IngressClass "${className}" does not exist, and the cluster has no IngressClass; install an ingress controller, or remove ${field}.`;
  return `IngressClass "${className}" does not exist; set ${field} to ${choice(existing)}, or install its ingress controller.`;
}

const MAX_CHOICES = 5;

function choice(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`);
  if (quoted.length > MAX_CHOICES) return `one of ${firstOf(quoted, MAX_CHOICES)}`;
  return quoted.length === 1 ? `${quoted[0]}` : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}
