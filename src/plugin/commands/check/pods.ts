import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { type Found, typedName } from "../../objects.ts";
import { type Finding, finding, some } from "./report.ts";

/**
 * Whether the pods of coderd have the settings that Coder's chart sets by default and the operator leaves to
 * the user.
 */
export function podFinding(objects: readonly Found[]): Finding {
  const what = "Pods of Coder";
  const bare = objects
    .filter(({ kind }) => kind.kind === CoderControlPlane.kind)
    .flatMap(({ kind, object }) => {
      const lacks = lacking(object as CoderControlPlane);
      const place = `${object.metadata.namespace}/${typedName(kind, object.metadata)}`;
      return lacks.length > 0 ? [`${place} has no ${lacks.join(" and no ")}`] : [];
    });
  if (bare.length === 0) return finding(what, "good", "All pods have resources and a security context.");
  return finding(what, "note", `${some(bare)}: set spec.resources and spec.presets.securityContext.`);
}

/** The recommended settings that the pods of a control plane lack. */
export function lacking({ spec }: CoderControlPlane): string[] {
  const { resources, presets, securityContext, podSecurityContext } = spec ?? {};
  const isSecured = presets?.securityContext ?? (securityContext ?? podSecurityContext) !== undefined;
  return [
    ...(isEmpty(resources?.requests) && isEmpty(resources?.limits) ? ["resources"] : []),
    ...(isSecured ? [] : ["security context"]),
  ];
}

function isEmpty(values: object | undefined): boolean {
  return Object.keys(values ?? {}).length === 0;
}
