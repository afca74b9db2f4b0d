import type { Command } from "../../command.ts";

export const importHelm: Command = {
  name: "import helm",
  summary: "Print the manifest that runs what a Helm release of Coder's charts runs",
  details:
    "Reads the release from its Secret in the cluster, or a values file, and changes nothing. A comment at the top of the manifest stands for each value that has no field. Values of variables are carried over as they are, so treat the output as you treat the values.",
  arguments: [{ name: "release", summary: "name of the Helm release" }],
  flags: [
    { flags: "--values <file>", summary: "read the values from this file instead of the cluster" },
    {
      flags: "--chart <chart>",
      summary: "chart of the values file, coder or provisioner, with its version after @",
    },
    { flags: "--check", summary: "compare with what runs now; exit code 3 when something would change" },
  ],
  examples: [
    { does: "Write the manifest", line: "kubectl coder import helm coder -n coder > coder.yaml" },
    { does: "See what would change", line: "kubectl coder import helm coder -n coder --check" },
    {
      does: "Without rights to read Helm's Secrets",
      line: "kubectl coder import helm coder --values values.yaml --chart coder@2.26.0",
    },
  ],
  // What it needs is loaded when it is needed: most commands do without.
  run: async (context, given) => (await import("./run.ts")).run(context, given),
};
