import {
  awaitChange,
  type Condition,
  ConfigMap,
  controller,
  type KubeObject,
  kind,
  runOperator,
  setCondition,
  writeStatus,
} from "kube-controller-runtime";
import { RuntimeMetrics } from "kube-controller-runtime/prometheus";

interface Greeting extends KubeObject {
  spec?: { name?: string };
  status?: GreetingStatus;
}

interface GreetingStatus {
  conditions?: readonly Condition[];
}

const Greeting = kind<Greeting>("example.com/v1", { kind: "Greeting", plural: "greetings" });
const managed = { "app.kubernetes.io/managed-by": "greeter" };

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

/** Leader election, probes, metrics, signals and a log come by themselves. */
export const greeter = { name: "greeter", marks: "example.com", controllers: [greetings] };

if (import.meta.main) await runOperator({ ...greeter, metrics: new RuntimeMetrics({ prefix: "greeter_" }) });
