import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { controllerOf, type Service } from "kube-controller-runtime";
import { commonLabels } from "../../names.ts";
import type { Served } from "./service.ts";

/**
 * Whether the Service that the operator sends tokens to leads to our own pods. Whoever may write Services, but not
 * read Secrets, could otherwise have the tokens sent to a Service of theirs.
 */
export function leadsToOurPods(served: Served, present: Service | undefined): boolean {
  if (!present || controllerOf(present)?.uid !== served.identity.uid) return false;
  const { type, selector } = present.spec ?? {};
  return type !== "ExternalName" && isDeepStrictEqual(selector, commonLabels(served));
}

/** The address of a Service, which it keeps as long as it lives; a headless one has none. */
export function clusterIPOf(present: Service | undefined): string | undefined {
  const { clusterIP } = present?.spec ?? {};
  return isIP(clusterIP ?? "") ? clusterIP : undefined;
}
