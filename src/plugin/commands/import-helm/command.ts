import type { Command } from "../../command.ts";

export const importHelm: Command = {
  name: "import helm",
  summary: "Print a manifest equivalent to a Helm release of Coder's charts",
  details:
    "Reads the release from its Secret in the cluster, or from a values file, and changes nothing. Comments at the top of the manifest list the values without an equivalent field. Values of variables are copied, so protect the output like the values.",
  arguments: [{ name: "release", summary: "name of the Helm release" }],
  flags: [
    { flags: "--values <file>", summary: "read the values from this file instead of the cluster" },
    {
      flags: "--chart <chart>",
      summary: "chart of the values file, coder or provisioner, with its version after @",
    },
    {
      flags: "--check",
      summary: "compare with the current objects; exits with code 3 if something would change",
    },
  ],
  examples: [
    { does: "Write the manifest", line: "kubectl coder import helm coder -n coder > coder.yaml" },
    { does: "List the changes", line: "kubectl coder import helm coder -n coder --check" },
    {
      does: "Without permission to read Helm's Secrets",
      line: "kubectl coder import helm coder --values values.yaml --chart coder@2.26.0",
    },
  ],
  // Imported on demand, because most commands do not need it.
  run: async (context, given) => (await import("./run.ts")).run(context, given),
};
