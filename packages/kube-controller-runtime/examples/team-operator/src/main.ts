import {
  awaitChange,
  type ConditionState,
  ConfigMap,
  controller,
  finalizer,
  Namespace,
  type RunContext,
  runOperator,
  type Stored,
  setCondition,
  writeStatus,
} from "kube-controller-runtime";
import { RuntimeMetrics } from "kube-controller-runtime/prometheus";
import { Directory } from "./directory.ts";
import { Team, type TeamStatus } from "./team.ts";

const labelSelector = "app.kubernetes.io/managed-by=team-operator";
const directory = new Directory(process.env.DIRECTORY_URL ?? "http://directory");

/** Every Team gets a namespace with a list of its members, and an entry in the company's directory. */
const teams = controller("team")
  .for(Team)
  .owns([Namespace, ConfigMap], { labelSelector })
  .limits({ concurrency: 4, timeoutMs: 30_000 })
  .reconcile(async (key, context) => {
    const object = context.caches.of(Team).get(key);
    if (!object) return awaitChange;
    return finalizer(context.client, "directory.example.com/entry", {
      kind: Team,
      object,
      wanted: true,
      apply: (team) => apply(team, context),
      cleanup: (team) => directory.remove(team.metadata.uid, context),
      reportFailure: (team, error) => report(team, context, failed(error)),
    });
  });

async function apply(object: Stored<Team>, context: RunContext) {
  const { name, uid } = object.metadata;
  const members = object.spec?.members ?? [];
  const namespace = `team-${name}`;
  const labels = { "app.kubernetes.io/managed-by": "team-operator", "app.kubernetes.io/instance": name };
  const owner = { kind: Team, object, labels };
  await context.children.converge(Namespace, [{ metadata: { name: namespace, labels } }], owner);
  const list = { metadata: { name: "members", namespace, labels }, data: { members: members.join("\n") } };
  await context.children.converge(ConfigMap, [list], owner);
  try {
    await directory.put(uid, { name, members }, context);
  } catch (error) {
    await report(object, context, failed(error));
    throw error;
  }
  const message = `The directory has an entry with ${members.length} members.`;
  await report(object, context, { status: "True", reason: "Entered", message });
  return awaitChange;
}

function failed(error: unknown): ConditionState {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "False", reason: "DirectoryUnreachable", message };
}

async function report(object: Stored<Team>, { client, clock }: RunContext, state: ConditionState) {
  const next = { ...state, observedGeneration: object.metadata.generation, now: clock.now() };
  await writeStatus<Team, TeamStatus>(client, {
    kind: Team,
    object,
    update: ({ conditions = [] }) => ({
      namespace: `team-${object.metadata.name}`,
      conditions: setCondition(conditions, "Ready", next),
    }),
  });
}

await runOperator({
  name: "team-operator",
  marks: "directory.example.com",
  controllers: [teams],
  metrics: new RuntimeMetrics({ prefix: "team_operator_" }),
  probeAddress: process.env.PROBE_ADDRESS ?? ":8081",
  metricsAddress: process.env.METRICS_ADDRESS ?? ":8080",
});
process.exit();
