import type { Command } from "../command.ts";
import { bundle } from "./bundle/command.ts";
import { check } from "./check/command.ts";
import { completion } from "./completion.ts";
import { importHelm } from "./import-helm/command.ts";
import { mcp } from "./mcp.ts";
import { pause, resume } from "./pause.ts";
import { releaseToHelm } from "./release-to-helm/command.ts";
import { restart } from "./restart.ts";
import { rotate } from "./rotate.ts";
import { status } from "./status/command.ts";
import { upgradeCheck } from "./upgrade-check.ts";
import { why } from "./why/command.ts";

/** All commands, in the order of `--help`. */
export const commands: readonly Command[] = [
  status,
  why,
  upgradeCheck,
  pause,
  resume,
  restart,
  rotate,
  check,
  importHelm,
  releaseToHelm,
  bundle,
  mcp,
  completion,
];
