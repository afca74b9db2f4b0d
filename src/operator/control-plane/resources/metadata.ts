import type { ObjectMeta } from "../../../runtime/object.ts";
import { type App, childMetadata, type Labels } from "../../shared/names.ts";
import type { ControlPlane } from "../spec.ts";

export const app: App = "coder-control-plane";

/** Metadata of the children that bear the control plane's own name. */
export function metadataOf({ childName, identity }: ControlPlane, annotations: Labels = {}): ObjectMeta {
  return childMetadata(app, identity, { name: childName, annotations });
}
