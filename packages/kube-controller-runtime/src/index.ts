/**
 * A controller runtime for Kubernetes operators in TypeScript. Read in this order: `watch/` → `cache/` →
 * `queue/` → `controller/` → `reconcile/` → `effects/` → `manager.ts`. The exports of this file follow
 * semantic versioning; everything else may change at any time.
 */

// Objects and kinds.
export {
  groupOf,
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
export * from "./kinds.ts";
export { controllerOf, controllerReference } from "./owner.ts";
export { type Condition, type ConditionState, findCondition, setCondition } from "./conditions.ts";
export { backoff } from "./backoff.ts";
export { fingerprint, fnv1a32, fnv1a64 } from "./hash.ts";

// Controllers and reconciles.
export {
  type Controller,
  controller,
  type Reconcile,
  type Followed,
  type RunContext,
  type RunLimits,
} from "./controller/controller.ts";
export { type Action, awaitChange, requeue } from "./queue/action.ts";
export { anyChange, contentChanged, specOrMetadataChanged } from "./controller/predicates.ts";
export { finalizer } from "./controller/finalizer.ts";
export { Children, CONTROLLER_INDEX } from "./controller/children.ts";
export { giveFields } from "./controller/managed-fields.ts";
export {
  allOf,
  describeForeign,
  type ForeignObject,
  AlreadyOwnedError,
  type Owner,
  type OwnershipMarks,
} from "./controller/ownership.ts";
export { mergePatchBetween, type StatusWrite, type WithStatus, writeStatus } from "./controller/status.ts";
export { type Changes, type Explain, type Explanation, type StepResult, Steps } from "./controller/steps.ts";
export { messageOf, NotLeaderError, RunTimeoutError, TerminalError } from "./errors.ts";
export { ClusterEventRecorder, type EventRecorder } from "./events.ts";
export type { PolicyRule, Verb } from "./rbac.ts";

// The frame of a reconcile: first status, checkpoints, conflicts, result.
export { type Environment, reconciler } from "./reconcile/reconciler.ts";
export type { Fresh, OwnObject } from "./reconcile/own-object.ts";
export { accept, isNew } from "./reconcile/accept.ts";
export { isPausedBy } from "./reconcile/pause.ts";
export { checkpoint } from "./reconcile/checkpoint.ts";
export { CONFLICT, type ConflictAdvice, reportConflicts } from "./reconcile/conflict.ts";
export { explain } from "./reconcile/explain.ts";
export { AVAILABLE, finish, type StartMemory, UNREPORTED } from "./reconcile/finish.ts";
export { applied, blocked, notRequested, summary } from "./reconcile/result.ts";

// Changes in external systems that outlive the process: plan, act, record, back off after a failure.
export { type Attempt, Backoff, type BackedOff, type BackoffRule } from "./effects/backoff.ts";
export {
  type Effect,
  type Needs,
  type Progress,
  type Settled,
  type SettleOptions,
  settle,
} from "./effects/settle.ts";

// The process: operator, manager, leader election, HTTP endpoints, log.
export { type Metrics, type OperatorEnvironment, type OperatorOptions, runOperator } from "./operator.ts";
export { Manager, type ManagerObserver, type ManagerOptions } from "./manager.ts";
export type { FinishedRun } from "./controller/runner.ts";
export type { QueueObserver } from "./queue/work-queue.ts";
export { Leader } from "./leader/leader.ts";
export { candidateIdentity } from "./leader/lease.ts";
export { ownNamespace } from "./leader/own-namespace.ts";
export { closedBy, type Fence, LeaderFence } from "./fence.ts";
export { admittedBy } from "./admission.ts";
export { type HttpServer, serveMetrics, serveProbes } from "./http.ts";
export { type Access, type Authorize, accessReviewRules, reviewAccess } from "./access-review.ts";
export type { Logger } from "./log.ts";
export { createLogger, type LogFormat, type LogLevel } from "./logging.ts";
export { Redactor, type RedactorOptions, recognizeTokens, redactText } from "./redact/redactor.ts";
export { type Clock, type Random, systemClock, timestamp } from "./clock.ts";

// The client and its credentials.
export { type Credentials, loadCredentials } from "./client/credentials.ts";
export { connectorFor } from "./client/connect.ts";
export { httpTransport, type Transport, type TransportRequest } from "./client/transport.ts";
export { type FinishedRequest, HttpClient, type HttpClientOptions } from "./client/http-client.ts";
export type { Client, WatchEvent, WatchOptions } from "./client/client.ts";
export { collectionPath } from "./client/paths.ts";
export { find, findSame } from "./client/find.ts";
export {
  ApiError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isNotFound,
  isTransient,
} from "./client/error.ts";

// Watches and caches, each usable separately.
export { watcher } from "./watch/watcher.ts";
export { Cache, type CacheOptions } from "./cache/cache.ts";
export { Caches } from "./cache/caches.ts";
export { References } from "./cache/references.ts";
export { type Change, Store, type StoreReader } from "./cache/store.ts";
