import type { StepResult } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";

export type Result<V = undefined> = StepResult<ControlPlaneStatus, V>;
