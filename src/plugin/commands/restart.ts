import { timestamp } from "kube-controller-runtime";
import { type Command, CommandError } from "../command.ts";
import { appOf, findObject, typedName } from "../objects.ts";
import { nextFor, objectArgument, written } from "./changed-object.ts";

/** The annotation that `kubectl rollout restart` sets, so that other tools understand it. */
const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";

export const restart: Command = {
  name: "restart",
  summary: "Replace the pods of an object one by one",
  details: `Sets ${RESTARTED_AT} in spec.podAnnotations. Daemons finish their builds first, within their grace period.`,
  arguments: [objectArgument],
  examples: [{ does: "Restart all daemons of a pool", line: "kubectl coder restart provisioner/linux" }],
  run: async (context, { arguments: [typed = ""] }) => {
    const cluster = await context.connect();
    const found = await findObject(cluster, typed);
    const { kind, object } = found;
    const name = typedName(kind, object.metadata);
    if (!appOf(kind)) throw new CommandError(`${name} has no pods to restart.`);
    const podAnnotations = { [RESTARTED_AT]: timestamp(context.clock.now()) };
    await cluster.client.mergePatch(kind, object.metadata, { spec: { podAnnotations } });
    const next = nextFor(found, `Follow it: kubectl coder why ${name} -n ${cluster.homeNamespace}`);
    return written({ object: name, did: "restarted", changed: true, next });
  },
};
