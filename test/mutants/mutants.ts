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
    file: "src/runtime/queue/work-queue.ts",
    from: "if (!this.#runs.has(key)) this.#schedule(next);",
    to: "this.#schedule(next);",
    tests: ["src/runtime/queue"],
  },
  {
    guard: "queue: a key that was added while it ran runs once more",
    file: "src/runtime/queue/work-queue.ts",
    from: "if (parked) this.#schedule(parked);",
    to: "if (parked) this.#turns.delete(key);",
    tests: ["src/runtime/queue"],
  },
  {
    guard: "watch: a history that the server has forgotten is listed anew",
    file: "src/runtime/watch/watcher.ts",
    from: "failure && (isExpired(failure) || isNotFound(failure))",
    to: "failure && isNotFound(failure)",
    tests: ["src/runtime/watch"],
  },
  {
    guard: "watch: failures are not retried in a hot loop",
    file: "src/runtime/watch/watcher.ts",
    from: "await clock.sleep(waitMs, signal);",
    to: "await clock.sleep(0, signal);",
    tests: ["src/runtime/watch"],
  },
  {
    guard: "leader: a suspended machine, which only the wall clock shows, no longer leads",
    file: "src/runtime/leader/leader.ts",
    from: "Math.max(clock.now() - this.#claim.wall, clock.monotonic() - this.#claim.monotonic)",
    to: "clock.monotonic() - this.#claim.monotonic",
    tests: ["src/runtime/leader"],
  },
  {
    guard: "leader: the lease of somebody else is not taken before it has run out",
    file: "src/runtime/leader/leader.ts",
    from: "if (free || this.#observation.expiresInMs(clock.monotonic()) <= 0) return",
    to: "if (free || this.#observation.expiresInMs(clock.monotonic()) <= 5_000) return",
    tests: ["src/runtime/leader"],
  },
  {
    guard: "leader: every write of the lease names the version that it replaces",
    file: "src/runtime/leader/lease.ts",
    from: "metadata: { resourceVersion: lease.metadata.resourceVersion },",
    to: "metadata: {},",
    tests: ["src/runtime/leader"],
  },
  {
    guard: "fence: a write that waited for a connection asks again as it leaves",
    file: "src/runtime/client/http-client.ts",
    from: "admit: fence && (() => fence.assertLeading()),",
    to: "admit: undefined,",
    tests: ["src/runtime"],
  },
  {
    guard: "fence: the first question after leadership is lost closes it",
    file: "src/runtime/fence.ts",
    from: "if (this.#isLeader && !this.#isLeader()) this.close(",
    to: "if (!this.#isLeader) this.close(",
    tests: ["src/runtime"],
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
    file: "src/runtime/controller/children.ts",
    from: "if (!controller || controller.uid === owner.object.metadata.uid) return;",
    to: "if (!controller || controller.uid !== owner.object.metadata.uid) return;",
    tests: ["src/runtime/controller"],
  },
  {
    guard: "fence: all ways out are closed before the lease is given back",
    file: "src/runtime/manager.ts",
    from: 'this.#fence.close(new NotLeaderError("leadership was given up"));',
    to: "",
    tests: ["src/runtime/manager.test.ts"],
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
    file: "src/runtime/controller/status.ts",
    from: "fresh.metadata.uid !== uid || fresh.metadata.generation !== generation",
    to: "fresh.metadata.uid !== uid",
    tests: ["src/runtime/controller"],
  },
  {
    guard: "finalizer: while cleanup fails, the finalizer stays",
    file: "src/runtime/controller/finalizer.ts",
    from: "if (failed) return failedWith(failed, await attempt(() => reportFailure?.(object, failed.error)));",
    to: "if (failed) await attempt(() => reportFailure?.(object, failed.error));",
    tests: ["src/runtime/controller"],
  },
  {
    guard: "finalizer: nothing is made outside before the finalizer is in place",
    file: "src/runtime/controller/finalizer.ts",
    from: "if (present === wanted) return apply(object);",
    to: "if (present || present === wanted) return apply(object);",
    tests: ["src/runtime/controller"],
  },
  {
    guard: "checkpoint: a run that could not record its intention does not go on",
    file: "src/operator/shared/checkpoint.ts",
    from: "  return undefined;\n}",
    to: "  return written;\n}",
    tests: ["src/operator/shared"],
  },
  {
    guard: "redaction: the value of a secret name is not logged",
    file: "src/runtime/redact.ts",
    from: "isSecretName(name) && inner !== undefined ? REDACTED : inside(inner)",
    to: "inside(inner)",
    tests: ["src/runtime/logging.test.ts"],
  },
  {
    guard: "redaction: secrets in the text of a log line are masked",
    file: "src/runtime/redact.ts",
    from: 'if (typeof value === "string") return redactText(value);',
    to: 'if (typeof value === "string") return value;',
    tests: ["src/runtime/logging.test.ts"],
  },
  {
    guard: "provisioner: a key that is in no Secret is never adopted",
    file: "src/operator/provisioner/plan.ts",
    from: "attempt !== undefined && attempt === pending.attempt",
    to: "attempt !== undefined",
    tests: ["src/operator/provisioner"],
  },
];
