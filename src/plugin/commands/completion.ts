import { answer, type Command } from "../command.ts";
import { type Line, span } from "../terminal/text.ts";

const SCRIPT = `#!/bin/sh
exec kubectl coder __complete "$@"`;

export const completion: Command = {
  name: "completion",
  summary: "Print the script that kubectl uses to complete this plugin, for every shell",
  details:
    "kubectl's own completion (1.26 or later) runs the program `kubectl_complete-coder` on the PATH. Set up completion for kubectl first: `kubectl completion --help`.",
  examples: [
    {
      does: "Install it",
      line: "kubectl coder completion > ~/bin/kubectl_complete-coder && chmod +x ~/bin/kubectl_complete-coder",
    },
  ],
  run: async () => answer({ script: SCRIPT }, scriptLines),
};

function scriptLines({ script }: { readonly script: string }): Line[] {
  return script.split("\n").map((line) => [span(line)]);
}
