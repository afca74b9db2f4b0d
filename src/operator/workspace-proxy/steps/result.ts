import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { StepResult } from "../../../runtime/controller/steps.ts";

export type Result<V = undefined> = StepResult<WorkspaceProxyStatus, V>;
