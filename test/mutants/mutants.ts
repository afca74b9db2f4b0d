/** A guard of the code, broken: the suite must notice. */
export interface Mutant {
  /** What the guard keeps from happening. */
  readonly guard: string;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Where a test fails then: files or folders, as vitest takes them. */
  readonly tests: readonly string[];
}

/** One for each promise that would be missed most. All are caught by tests that need nothing but Node. */
export const mutants: readonly Mutant[] = [
  {
    guard: "queue: a key never runs twice at once",
    file: "packages/kube-controller-runtime/src/queue/work-queue.ts",
    from: "if (!this.#runs.has(key)) this.#schedule(next);",
    to: "this.#schedule(next);",
    tests: ["packages/kube-controller-runtime/src/queue"],
  },
  {
    guard: "queue: a key that was added while it ran runs once more",
    file: "packages/kube-controller-runtime/src/queue/work-queue.ts",
    from: "if (parked) this.#schedule(parked);",
    to: "if (parked) this.#turns.delete(key);",
    tests: ["packages/kube-controller-runtime/src/queue"],
  },
  {
    guard: "watch: a history that the server has forgotten is listed anew",
    file: "packages/kube-controller-runtime/src/watch/watcher.ts",
    from: "failure && (isExpired(failure) || isNotFound(failure))",
    to: "failure && isNotFound(failure)",
    tests: ["packages/kube-controller-runtime/src/watch"],
  },
  {
    guard: "watch: failures are not retried in a hot loop",
    file: "packages/kube-controller-runtime/src/watch/watcher.ts",
    from: "await clock.sleep(waitMs, signal);",
    to: "await clock.sleep(0, signal);",
    tests: ["packages/kube-controller-runtime/src/watch"],
  },
  {
    guard: "leader: a suspended machine, which only the wall clock shows, no longer leads",
    file: "packages/kube-controller-runtime/src/leader/leader.ts",
    from: "Math.max(clock.now() - this.#claim.wall, clock.monotonic() - this.#claim.monotonic)",
    to: "clock.monotonic() - this.#claim.monotonic",
    tests: ["packages/kube-controller-runtime/src/leader"],
  },
  {
    guard: "leader: the lease of somebody else is not taken before it has run out",
    file: "packages/kube-controller-runtime/src/leader/leader.ts",
    from: "if (free || this.#observation.expiresInMs(clock.monotonic()) <= 0) return",
    to: "if (free || this.#observation.expiresInMs(clock.monotonic()) <= 5_000) return",
    tests: ["packages/kube-controller-runtime/src/leader"],
  },
  {
    guard: "leader: every write of the lease names the version that it replaces",
    file: "packages/kube-controller-runtime/src/leader/lease.ts",
    from: "metadata: { resourceVersion: lease.metadata.resourceVersion },",
    to: "metadata: {},",
    tests: ["packages/kube-controller-runtime/src/leader"],
  },
  {
    guard: "fence: a write that waited for a connection asks again as it leaves",
    file: "packages/kube-controller-runtime/src/client/http-client.ts",
    from: "admit: fence && (() => fence.assertLeading()),",
    to: "admit: undefined,",
    tests: ["packages/kube-controller-runtime/src"],
  },
  {
    guard: "fence: the first question after leadership is lost closes it",
    file: "packages/kube-controller-runtime/src/fence.ts",
    from: "if (this.#isLeader && !this.#isLeader()) this.close(",
    to: "if (!this.#isLeader) this.close(",
    tests: ["packages/kube-controller-runtime/src"],
  },
  {
    guard: "fence: nothing leaves for coderd after leadership is lost",
    file: "src/coder/http/host.ts",
    from: "this.#options.fence.assertLeading();",
    to: "undefined;",
    tests: ["src/coder"],
  },
  {
    guard: "ownership: a child that another controller owns is not touched",
    file: "packages/kube-controller-runtime/src/controller/children.ts",
    from: "if (!controller || controller.uid === owner.object.metadata.uid) return;",
    to: "if (!controller || controller.uid !== owner.object.metadata.uid) return;",
    tests: ["packages/kube-controller-runtime/src/controller"],
  },
  {
    guard: "fence: all ways out are closed before the lease is given back",
    file: "packages/kube-controller-runtime/src/manager.ts",
    from: 'this.#fence.close(new NotLeaderError("leadership was given up"));',
    to: "",
    tests: ["packages/kube-controller-runtime/src/manager.test.ts"],
  },
  {
    guard: "fence: nothing is sent to a database once leadership is lost",
    file: "src/coder/operator-access/session.ts",
    from: "      this.#fence.assertLeading();\n",
    to: "",
    tests: ["src/coder/operator-access/session.test.ts"],
  },
  {
    guard: "status: a run that a newer spec has overtaken writes nothing",
    file: "packages/kube-controller-runtime/src/controller/status.ts",
    from: "fresh.metadata.uid !== uid || fresh.metadata.generation !== generation",
    to: "fresh.metadata.uid !== uid",
    tests: ["packages/kube-controller-runtime/src/controller"],
  },
  {
    guard: "finalizer: while cleanup fails, the finalizer stays",
    file: "packages/kube-controller-runtime/src/controller/finalizer.ts",
    from: "if (failed) return failedWith(failed, await attempt(() => reportFailure?.(object, failed.error)));",
    to: "if (failed) await attempt(() => reportFailure?.(object, failed.error));",
    tests: ["packages/kube-controller-runtime/src/controller"],
  },
  {
    guard: "finalizer: nothing is made outside before the finalizer is in place",
    file: "packages/kube-controller-runtime/src/controller/finalizer.ts",
    from: "if (present === wanted) return apply(object);",
    to: "if (present || present === wanted) return apply(object);",
    tests: ["packages/kube-controller-runtime/src/controller"],
  },
  {
    guard: "checkpoint: a run that could not record its intention does not go on",
    file: "packages/kube-controller-runtime/src/reconcile/checkpoint.ts",
    from: "  return undefined;\n}",
    to: "  return written;\n}",
    tests: ["packages/kube-controller-runtime/src/reconcile"],
  },
  {
    guard: "redaction: the value of a secret name is not logged",
    file: "packages/kube-controller-runtime/src/redact.ts",
    from: "isSecretName(name) && inner !== undefined ? REDACTED : inside(inner)",
    to: "inside(inner)",
    tests: ["packages/kube-controller-runtime/src/logging.test.ts"],
  },
  {
    guard: "redaction: secrets in the text of a log line are masked",
    file: "packages/kube-controller-runtime/src/redact.ts",
    from: 'if (typeof value === "string") return redactText(value);',
    to: 'if (typeof value === "string") return value;',
    tests: ["packages/kube-controller-runtime/src/logging.test.ts"],
  },
  {
    guard: "provisioner: a key that is in no Secret is never adopted",
    file: "src/operator/provisioner/plan.ts",
    from: "attempt !== undefined && attempt === pending.attempt",
    to: "attempt !== undefined",
    tests: ["src/operator/provisioner"],
  },
];
