import { hostname } from "node:os";
import {
  awaitChange,
  type Condition,
  ConfigMap,
  controller,
  createLogger,
  HttpClient,
  httpTransport,
  type KubeObject,
  kind,
  loadCredentials,
  Manager,
  setCondition,
  systemClock,
  writeStatus,
} from "kube-controller-runtime";

interface Greeting extends KubeObject {
  spec?: { name?: string };
  status?: GreetingStatus;
}

interface GreetingStatus {
  conditions?: readonly Condition[];
}

const Greeting = kind<Greeting>("example.com/v1", { kind: "Greeting", plural: "greetings" });
const managed = { "app.kubernetes.io/managed-by": "greeter" };
const marks = {
  handOver: "example.com/adopt-by",
  ownerUid: "example.com/owner-uid",
  applied: "example.com/applied",
};

/** Every Greeting gets a ConfigMap of its name with a friendly text. */
const greetings = controller("greeting")
  .for(Greeting)
  .owns([ConfigMap], { labelSelector: "app.kubernetes.io/managed-by=greeter" })
  .reconcile(async (key, { caches, children, client, clock }) => {
    const object = caches.of(Greeting).get(key);
    if (!object || object.metadata.deletionTimestamp) return awaitChange;
    const { name, namespace = "" } = object.metadata;
    const text = `Hello, ${object.spec?.name ?? "world"}!`;
    const labels = { ...managed, "app.kubernetes.io/instance": name };
    const configMap = { metadata: { name, namespace, labels }, data: { text } };
    await children.converge(ConfigMap, [configMap], { kind: Greeting, object, labels });
    const written = { status: "True", reason: "Written", message: text, now: clock.now() } as const;
    await writeStatus<Greeting, GreetingStatus>(client, {
      kind: Greeting,
      object,
      update: ({ conditions = [] }) => ({ conditions: setCondition(conditions, "Greeted", written) }),
    });
    return awaitChange;
  });

/** Runs the operator until the signal is aborted. */
export async function runGreeter(signal: AbortSignal, kubeconfig?: string): Promise<void> {
  const transport = httpTransport(await loadCredentials({ kubeconfig }));
  const common = { clock: systemClock, fieldManager: "greeter" };
  const manager = new Manager({
    ...common,
    marks,
    client: new HttpClient({ ...common, transport, userAgent: "greeter/1.0" }),
    random: Math.random,
    log: createLogger({ level: "info" }),
    instance: hostname(),
    controllers: [greetings],
    namespaces: [],
    concurrency: 4,
    shutdownGraceMs: 5_000,
  });
  await manager.run(signal).finally(() => transport.close());
}
