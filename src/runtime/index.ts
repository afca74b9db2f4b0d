/**
 * A small controller runtime for Kubernetes operators in TypeScript. Nothing in this folder knows of any
 * particular operator. Read in this order: `watch/` → `cache/` → `queue/` → `controller/` → `manager.ts`.
 */
export type { CacheOptions } from "./cache/cache.ts";
export type { Caches } from "./cache/caches.ts";
export type { References } from "./cache/references.ts";
export type { Change, StoreReader } from "./cache/store.ts";
export type { Client } from "./client/client.ts";
export { loadCredentials } from "./client/credentials.ts";
export { ApiError, isAlreadyExists, isConflict, isExpired, isForbidden, isNotFound } from "./client/error.ts";
export { HttpClient } from "./client/http-client.ts";
export { httpTransport, type Transport } from "./client/transport.ts";
export { type Clock, type Random, systemClock } from "./clock.ts";
export { type Condition, type ConditionState, findCondition, setCondition } from "./conditions.ts";
export { type Action, awaitChange, requeue } from "./controller/action.ts";
export { Children } from "./controller/children.ts";
export { type Controller, controller, type Reconcile, type RunContext } from "./controller/controller.ts";
export { finalizer } from "./controller/finalizer.ts";
export { NotOursError, type Owner, type OwnershipMarks } from "./controller/ownership.ts";
export { contentChanged, specOrMetadataChanged } from "./controller/predicates.ts";
export { writeStatus } from "./controller/status.ts";
export { type StepResult, Steps } from "./controller/steps.ts";
export { NotLeaderError, TerminalError } from "./errors.ts";
export type { EventRecorder } from "./events.ts";
export { type Fence, LeaderFence } from "./fence.ts";
export { serveMetrics, serveProbes } from "./http.ts";
export * from "./kinds.ts";
export { candidateIdentity } from "./leader/lease.ts";
export type { Logger } from "./log.ts";
export { createLogger } from "./logging.ts";
export { Manager, type ManagerOptions } from "./manager.ts";
export { RuntimeMetrics } from "./metrics.ts";
export {
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  type ObjectRef,
  refOf,
  type Stored,
} from "./object.ts";
export { watcher } from "./watch/watcher.ts";
