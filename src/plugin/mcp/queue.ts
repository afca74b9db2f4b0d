import { personalCoderd } from "../coderd.ts";
import { assemble } from "../commands/status/assemble.ts";
import { gather } from "../commands/status/gather.ts";
import { Gaps } from "../gaps.ts";
import type { Tool } from "./tool.ts";

/** The part of the status that is about builds. */
export const queue: Tool = {
  name: "queue",
  description:
    "Show for each control plane whether builds wait and for what, and for each pool of daemons how many are wanted, busy, idle and pending, with its tags.",
  inputs: {},
  required: [],
  call: async (context) => {
    const gaps = new Gaps();
    const gathered = await gather(await context.connect(), gaps, { coderd: personalCoderd(context) });
    const { controlPlanes } = assemble(gathered, context.clock.now());
    const queues = controlPlanes.map(({ namespace, name, builds, pools }) => ({
      namespace,
      name,
      builds,
      pools,
    }));
    return { controlPlanes: queues, gaps: gaps.lines };
  },
};
