import { CONTROL_PLANE_NAME, controlPlaneSpec, workspaceProxySpec } from "./control-plane.ts";
import type { JsonObject } from "./json.ts";
import { provisionerSpec } from "./provisioner.ts";
import type { Release } from "./release.ts";
import { type Remark, ValuesReader } from "./values.ts";

/** One of our objects, as a person would apply it. */
export interface Manifest {
  readonly apiVersion: "coder.com/v1alpha1";
  readonly kind: "CoderControlPlane" | "CoderProvisioner" | "CoderWorkspaceProxy";
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: JsonObject;
}

/** A release in our words. */
export interface Translation {
  readonly manifest: Manifest;
  readonly remarks: readonly Remark[];
}

/**
 * What makes the same run as a release does. Every value that a person gave is either in the manifest or has a remark.
 * Secrets stay where they are: references are carried over, and no remark quotes a value.
 */
export function translate(release: Release): Translation {
  const reader = new ValuesReader(release.values, release.given);
  const manifest = manifestOf(reader, release);
  if (reader.isGiven("nameOverride")) {
    reader.remark("nameOverride", "It renames the chart's Deployment; ours is named after the object.");
  }
  if (reader.isGiven("extraTemplates")) {
    reader.remark("extraTemplates", "An operator renders no templates: apply these objects beside ours.");
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
