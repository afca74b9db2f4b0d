import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  CoreEvent,
  findCondition,
  isNotFound,
  type Kind,
  Secret,
} from "kube-controller-runtime";
import { adminClient, Dice, type LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { type OperatorProcess, startOperatorProcess } from "../../lab/operator-process.ts";
import { Secrets } from "../support/leaks.ts";
import { drawHostileText } from "./draw.ts";
import { startHostileCoderd } from "./hostile-coderd.ts";
import { startHostilePostgres } from "./hostile-postgres.ts";
import { type Drawn, drawnKinds, drawObject, type Place } from "./objects.ts";

const ENTRY = new URL("operator/main.ts", import.meta.url).pathname;
const MAX_OBJECTS = 20;
const PASSWORD = "fuzzed-password-that-must-not-leak";
const TOKEN = "fuzzedtokn-NobodyMaySeeThisSecret";
/** A deletion may wait a minute for others, and a server that says nothing is waited for as well. */
const SETTLE_MS = 4 * 60_000;

export interface FuzzOptions {
  readonly seed: number;
  readonly durationMs: number;
}

interface Campaign {
  readonly dice: Dice;
  readonly cluster: LocalCluster;
  readonly person: Client;
  readonly namespace: string;
  readonly databaseURL: string;
  readonly alive: Map<string, Kind<Drawn>>;
  readonly counts: { created: number; refused: number };
}

/** Draws objects and answers until the time is over; returns what was violated. */
export async function fuzz(
  { seed, durationMs }: FuzzOptions,
  report: (line: string) => void,
): Promise<string[]> {
  await using cluster = await startOperatorCluster();
  const dice = new Dice(seed);
  await using coderd = await startHostileCoderd(new Dice(seed + 1));
  await using postgres = await startHostilePostgres(new Dice(seed + 2));
  const [person, namespace] = [await adminClient(cluster), await cluster.createNamespace("fuzz")];
  const flags = [
    `--coderd-access=http://127.0.0.1:${coderd.port}`,
    `--namespaces=${namespace}`,
    "--no-leader-elect",
  ];
  await using operator = await startOperatorProcess(cluster, flags, ENTRY);
  const databaseURL = `postgres://coder:${PASSWORD}@127.0.0.1:${postgres.port}/coder?sslmode=disable`;
  const campaign: Campaign = {
    ...{ dice, cluster, person, namespace, databaseURL },
    alive: new Map(),
    counts: { created: 0, refused: 0 },
  };
  await putSecrets(campaign);
  const until = performance.now() + durationMs;
  while (performance.now() < until && operator.program.running) await step(campaign);
  const { created, refused } = campaign.counts;
  report(
    `${created} objects, ${refused} refused; ${coderd.requests()} questions to coderd, ${postgres.requests()} to Postgres`,
  );
  return [
    ...(await unsettled(campaign)),
    ...(await saidTooMuch(campaign, operator)),
    ...misconduct(operator),
  ];
}

/** Under every name that a drawn object may refer to. */
async function putSecrets({ dice, person, namespace }: Campaign): Promise<void> {
  for (const name of ["coder", "x", "a-name", "db", "token"]) {
    const pem = drawHostileText(dice, 200_000);
    const values = {
      token: TOKEN,
      license: drawHostileText(dice, 50_000),
      "ca.crt": pem,
      "tls.crt": pem,
      x: pem,
    };
    const data = Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name },
      data: Object.fromEntries(data),
    };
    await person.create(Secret, secret);
  }
}

async function step(campaign: Campaign): Promise<void> {
  const { dice, person, namespace, alive, counts, cluster } = campaign;
  const name = dice.pick([
    "coder",
    "x",
    "a-name",
    ...Array.from({ length: MAX_OBJECTS }, (_, index) => `o-${index}`),
  ]);
  const place: Place = { namespace, name };
  const old = alive.get(name);
  if (old) {
    await person.delete(old, place).catch(unlessGone);
    alive.delete(name);
    return;
  }
  // Others refer to a control plane of this name.
  const kind = name === "coder" ? drawnKinds[0] : dice.pick(drawnKinds);
  if (!kind) return;
  try {
    await person.create(kind, drawObject(kind, place, campaign));
    alive.set(name, kind);
    counts.created++;
  } catch {
    counts.refused++;
    return;
  }
  if (dice.next() < 0.7) {
    await sleep(200);
    await cluster.markDeploymentReady(namespace, name).catch(() => undefined);
  }
}

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** Objects whose status does not speak of their spec, or does not say what is the matter. */
async function unsettled({ person, namespace, alive }: Campaign): Promise<string[]> {
  const problems: string[] = [];
  for (const [name, kind] of alive) {
    const check = async () => {
      const object = await person.get(kind, { namespace, name });
      const ready = findCondition(object.status?.conditions, "Ready");
      const isCurrent = object.status?.observedGeneration === object.metadata.generation;
      if (!isCurrent || !ready?.message) throw new Error("has no condition that speaks of its spec");
      const reasons = object.status?.conditions?.map(({ reason }) => reason) ?? [];
      if (reasons.includes("InternalError")) throw new Error("has the reason InternalError");
    };
    await retried(check, SETTLE_MS).catch((error) => problems.push(`${kind.kind} ${name} ${error.message}`));
  }
  return problems;
}

/** Tries until it does not throw, or the time is over. */
async function retried(check: () => Promise<void>, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await sleep(200);
  }
}

async function saidTooMuch({ person, namespace }: Campaign, operator: OperatorProcess): Promise<string[]> {
  const secrets = new Secrets();
  secrets.add(PASSWORD, TOKEN);
  const objects = await Promise.all(drawnKinds.map((kind) => person.list(kind, { namespace })));
  const statuses = objects.flatMap(({ items }) => items.map(({ status }) => status));
  const said: Record<string, string> = {
    "the log": operator.output,
    "a status": JSON.stringify(statuses),
    "an event": JSON.stringify((await person.list(CoreEvent, { namespace })).items),
    "a metric": await operator.metrics(),
  };
  return Object.entries(said).flatMap(([where, text]) =>
    secrets.foundIn(text).map((found) => `${where} shows ${found}`),
  );
}

/** A crash, a bug, or a turn of the event loop that took too long. */
function misconduct(operator: OperatorProcess): string[] {
  const stalls = operator.log.filter(({ msg }) => msg === "event loop stalled");
  const bugs = operator.log.filter(({ error }) =>
    /^(Type|Range|Reference)Error$/.test((error as { type?: string })?.type ?? ""),
  );
  return [
    ...(operator.program.running ? [] : [`the operator ended: ${operator.output.slice(-2_000)}`]),
    ...stalls.map(({ busyMs, at }) => `the event loop was busy for ${busyMs} ms, at ${at}`),
    ...bugs.map((line) => `a bug: ${JSON.stringify(line).slice(0, 1_000)}`),
  ];
}
