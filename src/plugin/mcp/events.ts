import { CoreEvent } from "kube-controller-runtime";
import { listAll } from "../cluster.ts";
import { eventReports } from "../commands/status/parts.ts";
import { Gaps } from "../gaps.ts";
import { OUR_EVENTS, typedName } from "../objects.ts";
import { type Tool, word } from "./tool.ts";

/** Events of the custom resources, which the operator records. */
export const events: Tool = {
  name: "events",
  description: "List Kubernetes Events of control planes, provisioners and workspace proxies, newest first.",
  inputs: { object: word("kind/name, for example provisioner/linux; defaults to all objects") },
  required: [],
  call: async (context, { object }) => {
    const { client, namespace } = await context.connect();
    const gaps = new Gaps();
    const reading = listAll(client, CoreEvent, { namespace, ...OUR_EVENTS });
    const found = (await gaps.read("list events", reading)) ?? [];
    const isAsked = ({ involvedObject: about }: CoreEvent) =>
      object === undefined || typedName(about, about) === object;
    return { events: eventReports(found.filter(isAsked)), gaps: gaps.lines };
  },
};
