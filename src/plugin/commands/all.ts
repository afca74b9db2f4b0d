import type { Command } from "../command.ts";
import { completion } from "./completion.ts";
import { pause, resume } from "./pause.ts";
import { status } from "./status/command.ts";

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [status, pause, resume, completion];
