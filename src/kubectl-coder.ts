/** Entry of `kubectl coder`. No `await` at the top: a single executable has a CommonJS entry. */
import { systemClock } from "kube-controller-runtime";
import { openCluster } from "./plugin/cluster.ts";
import { runPlugin } from "./plugin/run.ts";
import { version } from "./version.ts";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  // A second signal ends the process at once.
  process.once(signal, () => stop.abort());
}

// A pager or `head` closed the pipe.
process.stdout.on("error", () => process.exit());

runPlugin({
  args: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
  clock: systemClock,
  version,
  // A closure, because Node loads fetch at the first use and most commands do not need it.
  fetch: (...request) => fetch(...request),
  open: (where) => openCluster(where, systemClock, version),
}).then((code) => {
  process.exitCode = code;
  // Flush the output before exiting: the reader of a pipe may be slow.
  process.stdout.write("", () => process.exit());
});
