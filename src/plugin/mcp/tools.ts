import { check } from "../commands/check/command.ts";
import { pause, resume } from "../commands/pause.ts";
import { restart } from "../commands/restart.ts";
import { rotate } from "../commands/rotate.ts";
import { status } from "../commands/status/command.ts";
import { upgradeCheck } from "../commands/upgrade-check.ts";
import { why } from "../commands/why/command.ts";
import { events } from "./events.ts";
import { logs } from "./logs.ts";
import { queue } from "./queue.ts";
import { type Tool, toolOf } from "./tool.ts";

const reading: readonly Tool[] = [toolOf(status), toolOf(why), toolOf(check), events, logs, queue];

/** What the person could do with `kubectl coder` too. Pods are replaced by two of them; a check sets an annotation. */
const writing: readonly Tool[] = [
  toolOf(upgradeCheck, { destructive: false }),
  toolOf(pause, { destructive: false }),
  toolOf(resume, { destructive: false }),
  toolOf(restart, { destructive: true }),
  toolOf(rotate, { destructive: true }),
];

/** Functions for assistants; those that write only where the person said so. */
export function toolsFor({ allowWrites }: { readonly allowWrites: boolean }): readonly Tool[] {
  return allowWrites ? [...reading, ...writing] : reading;
}
