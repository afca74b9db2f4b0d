import { isDeepStrictEqual } from "node:util";
import { type Caches, controllerOf, keyOf, Service } from "kube-controller-runtime";
import { commonLabels } from "../names.ts";
import type { Served } from "./service.ts";

/**
 * Whether the name that the operator sends tokens to leads to our own pods. Whoever may write Services, but not read
 * Secrets, could otherwise have the tokens sent to a Service of theirs.
 */
export function leadsToOurPods(served: Served, caches: Caches): boolean {
  const { childName: name, identity } = served;
  const present = caches.of(Service).get(keyOf({ namespace: identity.namespace, name }));
  if (!present || controllerOf(present)?.uid !== identity.uid) return false;
  const { type, selector } = present.spec ?? {};
  return type !== "ExternalName" && isDeepStrictEqual(selector, commonLabels(served));
}
