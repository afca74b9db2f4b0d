/**
 * A small controller runtime for Kubernetes operators in TypeScript. Nothing in this folder knows of any
 * particular operator. Read in this order: `watch/` → `cache/` → `queue/` → `controller/` → `reconcile/` → `manager.ts`.
 */

export { admittedBy } from "./admission.ts";
export type { CacheOptions } from "./cache/cache.ts";
export type { Caches } from "./cache/caches.ts";
export type { References } from "./cache/references.ts";
export type { Change, StoreReader } from "./cache/store.ts";
export type { Client } from "./client/client.ts";
export { connectorFor } from "./client/connect.ts";
export { type Credentials, loadCredentials } from "./client/credentials.ts";
export {
  ApiError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isNotFound,
  isTransient,
} from "./client/error.ts";
export { find } from "./client/find.ts";
export { HttpClient, type HttpClientOptions } from "./client/http-client.ts";
export { httpTransport, type Transport } from "./client/transport.ts";
export { type Clock, type Random, systemClock, timestamp } from "./clock.ts";
export { type Condition, type ConditionState, findCondition, setCondition } from "./conditions.ts";
export { type Action, awaitChange, requeue } from "./controller/action.ts";
export { allOf, Children, CONTROLLER_INDEX } from "./controller/children.ts";
export { type Controller, controller, type Reconcile, type RunContext } from "./controller/controller.ts";
export { finalizer } from "./controller/finalizer.ts";
export {
  describeForeign,
  type ForeignObject,
  NotOursError,
  type Owner,
  type OwnershipMarks,
} from "./controller/ownership.ts";
export { contentChanged, specOrMetadataChanged } from "./controller/predicates.ts";
export type { FinishedRun } from "./controller/runner.ts";
export { mergePatchBetween, type StatusWrite, type WithStatus, writeStatus } from "./controller/status.ts";
export { type Changes, type Explain, type Explanation, type StepResult, Steps } from "./controller/steps.ts";
export { messageOf, NotLeaderError, TerminalError } from "./errors.ts";
export type { EventRecorder } from "./events.ts";
export { type Fence, LeaderFence } from "./fence.ts";
export { fnv1a32, fnv1a64 } from "./hash.ts";
export { type HttpServer, serveMetrics, serveProbes } from "./http.ts";
export * from "./kinds.ts";
export { candidateIdentity } from "./leader/lease.ts";
export type { Logger } from "./log.ts";
export { createLogger, type LogFormat, type LogLevel } from "./logging.ts";
export { Manager, type ManagerOptions } from "./manager.ts";
export { maskSecrets } from "./mask.ts";
export { RuntimeMetrics } from "./metrics.ts";
export {
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectKey,
  type ObjectMeta,
  type ObjectRef,
  refOf,
  resourceName,
  type Stored,
  type Wire,
} from "./object.ts";
export { controllerOf } from "./owner.ts";
export type { PolicyRule, Verb } from "./rbac.ts";
export { accept, isNew } from "./reconcile/accept.ts";
export { checkpoint } from "./reconcile/checkpoint.ts";
export { CONFLICT, type ConflictAdvice, reportConflicts } from "./reconcile/conflict.ts";
export { explain } from "./reconcile/explain.ts";
export { fingerprint } from "./reconcile/fingerprint.ts";
export { finish, type StartMemory, UNREPORTED } from "./reconcile/finish.ts";
export { type Environment, reconciler } from "./reconcile/reconciler.ts";
export { applied, blocked } from "./reconcile/result.ts";
export { summary } from "./reconcile/summary.ts";
export { redactText } from "./redact.ts";
export { watcher } from "./watch/watcher.ts";
