import { find, Pod, type Stored } from "kube-controller-runtime";
import { APPS, MANAGED_BY_LABEL, MANAGER_NAME } from "../../operator/names.ts";
import type { Cluster } from "../cluster.ts";
import { CommandError } from "../command.ts";
import { type LogEnd, readLogEnd } from "../container-log.ts";
import { type Inputs, type Tool, word } from "./tool.ts";

const USUAL_LINES = 100;
const MAX_LINES = 500;
const MAX_BYTES = 256 * 1024;

const OURS: readonly string[] = Object.values(APPS);

/** Logs of the operator and of pods that it created; no others, even if the user may read them. */
export const logs: Tool = {
  name: "logs",
  description:
    "Read the end of the log of a pod of coderd, of a provisioner daemon, of a workspace proxy or of the operator. Other pods are refused.",
  inputs: {
    pod: word("name of the pod"),
    container: word("name of the container; defaults to the first"),
    previous: { type: "boolean", description: "Read the log of the container before its last restart." },
    lines: {
      type: "integer",
      description: `Number of lines; defaults to ${USUAL_LINES}.`,
      minimum: 1,
      maximum: MAX_LINES,
    },
  },
  required: ["pod"],
  quotes: true,
  call: async (context, inputs) => {
    const cluster = await context.connect();
    const pod = await ourPod(cluster, `${inputs.pod}`);
    const text = await readLogEnd(cluster, endOf(pod, inputs));
    return { pod: pod.metadata.name, lines: text.split("\n").filter(Boolean) };
  },
};

async function ourPod({ client, homeNamespace: namespace }: Cluster, name: string): Promise<Stored<Pod>> {
  const pod = await find(client, Pod, { namespace, name });
  if (!pod) throw new CommandError(`There is no pod "${name}" in namespace "${namespace}".`);
  const { [MANAGED_BY_LABEL]: manager, "app.kubernetes.io/name": app = "" } = pod.metadata.labels ?? {};
  const isOurs = (manager === MANAGER_NAME && OURS.includes(app)) || app === MANAGER_NAME;
  if (!isOurs)
    throw new CommandError(`Pod "${name}" does not belong to the operator, so its log can't be read.`);
  return pod;
}

function endOf(
  { metadata, spec }: Stored<Pod>,
  { container, previous, lines = USUAL_LINES }: Inputs,
): LogEnd {
  const names = spec?.containers.map(({ name }) => name) ?? [];
  const chosen = `${container ?? names[0] ?? ""}`;
  if (!names.includes(chosen)) throw new CommandError(`The pod has these containers: ${names.join(", ")}.`);
  const { namespace = "", name: pod } = metadata;
  return {
    namespace,
    pod,
    container: chosen,
    previous: previous === true,
    lines: Number(lines),
    bytes: MAX_BYTES,
  };
}
