/** `make demo NODE=1`: the operator, the real Coder and a workspace on a real node, without leftovers. */
import { parseArgs } from "node:util";
import { messageOf } from "kube-controller-runtime";
import { PlainScreen } from "../view/screen.ts";
import { runNodeDemo } from "./demo.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    // The kernel ends the node with this process.
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}

const { values } = parseArgs({ options: { once: { type: "boolean", default: false } } });
try {
  const screen = new PlainScreen((text) => process.stdout.write(text));
  await runNodeDemo({ screen, signal: stop.signal, once: values.once });
} catch (error) {
  if (!stop.signal.aborted) {
    process.stderr.write(`demo: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
