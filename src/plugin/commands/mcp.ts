import { answer, type Command } from "../command.ts";

export const mcp: Command = {
  name: "mcp",
  summary: "Serve these functions to an assistant over standard input and output",
  details:
    "Speaks the Model Context Protocol. The assistant sees what you may see: status, why, events, logs of the operator's own pods, queue and checks. It can change nothing, unless you start it with --allow-writes: then it may also pause, resume, restart, rotate, and check an upgrade, which sets an annotation for a moment.",
  flags: [{ flags: "--allow-writes", summary: "also offer what changes something, marked as such" }],
  isForAllNamespaces: true,
  examples: [
    { does: "Start it as an assistant's host does", line: "kubectl coder mcp -n coder" },
    { does: "Let the assistant restart and rotate too", line: "kubectl coder mcp -n coder --allow-writes" },
  ],
  run: async (context, { flags }) => {
    const { stdin, stderr } = context.streams;
    if ("isTTY" in stdin && stdin.isTTY)
      stderr.write("Waiting for an assistant to speak on standard input. Ctrl-C ends it.\n");
    // A bundle of its own: nobody else pays for the protocol.
    const { serve } = await import("../mcp/serve.ts");
    await serve(context, { allowWrites: flags.allowWrites === true });
    return answer({ served: true }, () => []);
  },
};
