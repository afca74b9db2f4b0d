import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";
import type { StepResult } from "../../../runtime/controller/steps.ts";

export type Result<V = undefined> = StepResult<ControlPlaneStatus, V>;
