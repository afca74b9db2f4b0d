import {
  Deployment,
  type Kind,
  type KubeObject,
  type ManagerObserver,
  Secret,
} from "kube-controller-runtime";
import { Dice, FakeApi, parseAddress, rolledOutStatus, VirtualClock } from "kube-controller-runtime/testing";
import { InProcessCoderds } from "../../lab/coderd/in-process.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { MemoryDatabases } from "../../lab/coderd-database/memory.ts";
import { launchOperator } from "../../lab/operator.ts";
import * as kinds from "../../src/api/v1alpha1/kinds.ts";
import type { OperatorAccess } from "../../src/coder/operator-access/access.ts";
import { runsDaemons, startPods } from "../fleet/pods.ts";

/** Whose work a span is part of, and whom it waits for; a run of the operator is a span too. */
export interface Span {
  readonly of: "coder" | "pool";
  readonly side: "run" | "kubernetes" | "coderd" | "database";
  readonly what: string;
  /** In milliseconds since both objects were created. */
  readonly from: number;
  readonly to: number;
}

/** What happened from the creation of a control plane and a provisioner until both were Ready. */
export interface Trace {
  readonly coderdMs: number;
  readonly spans: readonly Span[];
  /** When each was Ready. */
  readonly readyAt: Readonly<Record<Span["of"], number>>;
}

/** What a request to the API server and a session with the database take; pods run as soon as they are asked for. */
export const KUBERNETES_MS = 10;
export const DATABASE_MS = 30;

/** Of the trace that is drawn: what coderd takes for each answer, and where the picture is. */
export const DRAWN_MS = 100;
export const PICTURE = new URL("../../docs/images/trace.svg", import.meta.url);

const NAMESPACE = "trace";
const TIME_LIMIT_MS = 60_000;
const REF = { coder: { namespace: NAMESPACE, name: "coder" }, pool: { namespace: NAMESPACE, name: "pool" } };

/** Follows one pair from `apply` to Ready in virtual time: the same on any machine, however busy it is. */
export async function tracePair(coderdMs: number): Promise<Trace> {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  for (const kind of Object.values(kinds)) api.install(kind as Kind);
  const person = api.client("a-person");
  const coderds = new InProcessCoderds(clock);
  const databases = new MemoryDatabases(clock);
  const database = await databases.create();
  const coderd = coderds.add(
    { accounts: database.accounts(), now: () => clock.now() },
    { host: `coder.${NAMESPACE}.svc.cluster.local` },
  );
  coderd.faults.inject({ fault: { kind: "latency", ms: coderdMs } });
  const recorder = new Recorder(clock);
  const dice = new Dice(1);
  const operator = await launchOperator(
    {
      transport: { send: recorder.timed(api), close: async () => {} },
      requestClock: clock,
      random: () => dice.next(),
      eventually: async (assertion) => {
        await clock.advance(0);
        return assertion();
      },
      finish: async (work) => {
        await clock.advance(TIME_LIMIT_MS);
        return work;
      },
    },
    {
      coderdRoute: coderds.route,
      database: recorder.timedAccess(databases.access),
      observer: recorder.observer,
    },
  );
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const data = { url: base64(database.url), license: base64(fakeLicense({ now: clock.now() })) };
  await person.create(Secret, { metadata: REF.coder, data });
  recorder.begin();
  await create(person);
  const join = (name: string, secret: string) => void coderd.connectDaemon(name, secret);
  const readyAt = await untilReady(person, { clock, join, startedAt: clock.now() });
  for (const { request, at } of coderd.calls) recorder.noteCoderd(request, at, coderdMs);
  await operator.stop();
  await api.close();
  await coderds.close();
  return { coderdMs, spans: recorder.until(Math.max(...Object.values(readyAt))), readyAt };
}

type Person = ReturnType<FakeApi["client"]>;

async function create(person: Person): Promise<void> {
  const secretKeyRef = { name: "coder", key: "url" };
  await person.create(kinds.CoderControlPlane, {
    metadata: REF.coder,
    spec: {
      extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
      licenseSecretRef: { name: "coder" },
    },
  });
  await person.create(kinds.CoderProvisioner, {
    metadata: REF.pool,
    spec: { controlPlaneRef: { name: "coder" }, replicas: 2 },
  });
}

/** Plays the cluster, whose pods run at once, until both objects are Ready; returns when each was. */
async function untilReady(
  person: Person,
  {
    clock,
    join,
    startedAt,
  }: { clock: VirtualClock; join: (name: string, secret: string) => void; startedAt: number },
): Promise<Trace["readyAt"]> {
  const seen = new Set<string>();
  const readyAt: { coder?: number; pool?: number } = {};
  while (clock.now() - startedAt < TIME_LIMIT_MS) {
    await clock.advance(1);
    for (const deployment of (await person.list(Deployment, { namespace: NAMESPACE })).items) {
      const { name, generation = 0 } = deployment.metadata;
      if (seen.has(name)) continue;
      seen.add(name);
      if (runsDaemons(deployment)) await startPods(deployment, person, { join });
      else {
        const status = rolledOutStatus(generation, deployment.spec?.replicas ?? 1);
        await person.patchStatus(Deployment, { namespace: NAMESPACE, name }, { status });
      }
    }
    const coder = await person.get(kinds.CoderControlPlane, REF.coder);
    if (coder.status?.licenseTier === "premium") readyAt.coder ??= clock.now() - startedAt;
    const pool = await person.get(kinds.CoderProvisioner, REF.pool);
    if (pool.status?.phase === "Ready") readyAt.pool ??= clock.now() - startedAt;
    const { coder: first, pool: second } = readyAt;
    if (first !== undefined && second !== undefined) return { coder: first, pool: second };
  }
  throw new Error(`the pair is not Ready after ${TIME_LIMIT_MS / 1_000} s`);
}

/** Writes down who waits for whom, and makes each request take its time. */
class Recorder {
  readonly #clock: VirtualClock;
  readonly #spans: Span[] = [];
  #startedAt = Number.POSITIVE_INFINITY;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  begin(): void {
    this.#startedAt = this.#clock.now();
  }

  /** In the order in which they began. */
  until(end: number): Span[] {
    const within = this.#spans.filter(({ from, to }) => from >= 0 && from < end && to <= end);
    return within.toSorted((a, b) => a.from - b.from || b.to - a.to);
  }

  timed(api: FakeApi): FakeApi["send"] {
    return async (request) => {
      const { plural, name, subresource, query } = parseAddress(request.path);
      const isTimed = this.#clock.now() >= this.#startedAt && !query.has("watch");
      if (!isTimed) return api.send(request);
      const { metadata } = JSON.parse(request.body ?? "{}") as KubeObject;
      const of = /^(provisioner-)?pool\b/.test(name ?? metadata?.name ?? "") ? "pool" : "coder";
      const what = `${request.method} ${subresource ? `${plural}/${subresource}` : plural}`;
      return this.#note({ of, side: "kubernetes", what }, async () => {
        await this.#clock.sleep(KUBERNETES_MS);
        return api.send(request);
      });
    };
  }

  timedAccess(access: OperatorAccess): OperatorAccess {
    const session = <T>(work: () => Promise<T>) =>
      this.#note({ of: "coder", side: "database", what: "one session" }, async () => {
        await this.#clock.sleep(DATABASE_MS);
        return work();
      });
    return {
      ensureToken: (...call) => session(() => access.ensureToken(...call)),
      revokeToken: (...call) => session(() => access.revokeToken(...call)),
      inspect: (...call) => session(() => access.inspect(...call)),
    };
  }

  noteCoderd(request: string, at: number, tookMs: number): void {
    const what = request.replace("/api/v2/", "").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "…");
    const of = /provisioner(keys|daemons)|organizations\/default/.test(what) ? "pool" : "coder";
    const from = at - this.#startedAt;
    this.#spans.push({ of, side: "coderd", what, from, to: from + tookMs });
  }

  /** Hears of every run that has ended. */
  get observer(): ManagerObserver {
    const nothing = () => {};
    return {
      queue: () => ({
        depthFrom: nothing,
        added: nothing,
        retried: nothing,
        started: nothing,
        finished: nothing,
      }),
      reconciled: (controller, { key, durationMs }) => {
        const to = this.#clock.now() - this.#startedAt;
        const of = key.endsWith("/pool") ? "pool" : "coder";
        const isTheirs = controller === "control-plane" || controller === "provisioner";
        if (isTheirs) this.#spans.push({ of, side: "run", what: "run", from: to - durationMs, to });
      },
      watchRestarted: nothing,
      cached: nothing,
      leading: nothing,
      leaseFailed: nothing,
    };
  }

  async #note<T>(span: Pick<Span, "of" | "side" | "what">, work: () => Promise<T>): Promise<T> {
    const from = this.#clock.now() - this.#startedAt;
    try {
      return await work();
    } finally {
      this.#spans.push({ ...span, from, to: this.#clock.now() - this.#startedAt });
    }
  }
}
