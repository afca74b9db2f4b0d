import type { Command } from "../command.ts";
import { completion } from "./completion.ts";
import { pause, resume } from "./pause.ts";

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [pause, resume, completion];
