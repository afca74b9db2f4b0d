/** Entry of `kubectl coder`. No `await` at the top: a single executable has a CommonJS entry. */
import { systemClock } from "kube-controller-runtime";
import { openCluster } from "./plugin/cluster.ts";
import { runPlugin } from "./plugin/run.ts";
import { version } from "./version.ts";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  // A second signal ends the process at once: whoever sends it will not wait.
  process.once(signal, () => stop.abort());
}

// A pager or `head` that has seen enough.
process.stdout.on("error", () => process.exit());

runPlugin({
  words: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
  clock: systemClock,
  version,
  // Named late: Node loads its fetch at the first use, and most commands need none.
  fetch: (...request) => fetch(...request),
  open: (where) => openCluster(where, systemClock, version),
}).then((code) => {
  process.exitCode = code;
  // What the reader of a pipe has not taken yet must not be lost.
  process.stdout.write("", () => process.exit());
});
