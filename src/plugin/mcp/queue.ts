import { statusReport } from "../commands/status/command.ts";
import type { Tool } from "./tool.ts";

/** The part of the status that is about builds. */
export const queue: Tool = {
  name: "queue",
  description:
    "Show for each control plane whether builds wait and why, and for each pool of daemons its tags and the number of wanted, busy, idle and pending daemons.",
  inputs: {},
  required: [],
  call: async (context) => {
    const { report } = await statusReport(context);
    const queues = report.controlPlanes.map(({ namespace, name, builds, pools }) => ({
      namespace,
      name,
      builds,
      pools,
    }));
    return { controlPlanes: queues, gaps: report.gaps };
  },
};
