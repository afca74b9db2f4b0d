import type { StepResult } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";

export type ControlPlaneResult<V = undefined> = StepResult<ControlPlaneStatus, V>;
