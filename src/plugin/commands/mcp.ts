import { answer, type Command } from "../command.ts";

export const mcp: Command = {
  name: "mcp",
  summary: "Serve these commands to an AI assistant over standard input and output",
  details:
    "Speaks the Model Context Protocol. The assistant has your permissions and reads the status, causes of problems, events, logs of the operator's own pods, the queue and checks. It can't change anything, unless you start the server with --allow-writes: the assistant may then also pause, resume, restart, rotate, and check an upgrade, which temporarily sets an annotation.",
  flags: [{ flags: "--allow-writes", summary: "also offer tools that change objects, marked as such" }],
  isForAllNamespaces: true,
  examples: [
    { does: "Start the server", line: "kubectl coder mcp -n coder" },
    { does: "Let the assistant restart and rotate too", line: "kubectl coder mcp -n coder --allow-writes" },
  ],
  run: async (context, { flags }) => {
    const { stdin, stderr } = context.streams;
    if ("isTTY" in stdin && stdin.isTTY)
      stderr.write("Waiting for requests on standard input. Press Ctrl-C to exit.\n");
    // A separate bundle, so that other commands do not load the protocol.
    const { serve } = await import("../mcp/serve.ts");
    await serve(context, { allowWrites: flags.allowWrites === true });
    return answer({ served: true }, () => []);
  },
};
