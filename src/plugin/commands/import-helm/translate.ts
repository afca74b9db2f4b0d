import { CONTROL_PLANE_NAME, controlPlaneSpec, workspaceProxySpec } from "./control-plane.ts";
import type { JsonObject } from "./json.ts";
import { provisionerSpec } from "./provisioner.ts";
import type { Release } from "./release.ts";
import { type Remark, ValuesReader } from "./values.ts";

/** A custom resource as a user would apply it. */
export interface Manifest {
  readonly apiVersion: "coder.com/v1alpha1";
  readonly kind: "CoderControlPlane" | "CoderProvisioner" | "CoderWorkspaceProxy";
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: JsonObject;
}

/** A release as a manifest with remarks. */
export interface Translation {
  readonly manifest: Manifest;
  readonly remarks: readonly Remark[];
}

/**
 * A manifest that runs the same as a release. Every value that the user set is in the manifest or has a
 * remark. Secrets are not copied: references are kept, and no remark quotes a value.
 */
export function translate(release: Release): Translation {
  const reader = new ValuesReader(release.values, release.given);
  const manifest = manifestOf(reader, release);
  if (reader.isGiven("nameOverride")) {
    reader.remark(
      "nameOverride",
      "It renames the chart's Deployment; the operator's Deployment is named after the object.",
    );
  }
  if (reader.isGiven("extraTemplates")) {
    reader.remark(
      "extraTemplates",
      "The operator does not render templates: apply these objects separately.",
    );
  }
  return { manifest, remarks: reader.remarks() };
}

function manifestOf(reader: ValuesReader, release: Release): Manifest {
  const { name, namespace, chart } = release;
  const manifest = (kind: Manifest["kind"], spec: JsonObject, own = name): Manifest => {
    return { apiVersion: "coder.com/v1alpha1", kind, metadata: { name: own, namespace }, spec };
  };
  if (chart === "provisioner") return manifest("CoderProvisioner", provisionerSpec(reader, release));
  if (reader.flag("coder.workspaceProxy"))
    return manifest("CoderWorkspaceProxy", workspaceProxySpec(reader, release));
  return manifest("CoderControlPlane", controlPlaneSpec(reader, release), CONTROL_PLANE_NAME);
}
