import type { Kind } from "kube-controller-runtime";
import type { ControlPlaneSpec } from "../../../../src/api/v1alpha1/control-plane.ts";

/** One field of the spec, a value for it, and where that must show. */
export interface PropagationCase {
  /** The path below `spec`, without list indexes. */
  readonly field: string;
  readonly spec: ControlPlaneSpec;
  readonly kind: Kind;
  readonly shows: object;
}

export const podSpec = (shows: object) => ({ spec: { template: { spec: shows } } });
export const container = (shows: object) => podSpec({ containers: [{ name: "coder", ...shows }] });
