import type { StepResult } from "kube-controller-runtime";
import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";

export type WorkspaceProxyResult<V = undefined> = StepResult<WorkspaceProxyStatus, V>;
