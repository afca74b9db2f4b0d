/** `make demo`: the whole operator on this machine, without an installation and without leftovers. */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "kube-controller-runtime";
import { mint } from "../lab/mint.ts";
import { cachedCoderBinaries } from "../tools/coder/binaries.ts";
import { type DemoOptions, runDemo } from "./demo.ts";
import { LiveScreen, PlainScreen } from "./view/screen.ts";
import type { WorldOptions } from "./world.ts";

const HELP = `usage: node demo/main.ts [--once] [--within <seconds>] [--real]

  --once               exit with 0 when everything is ready, or with 1 and the reason on timeout
  --within <seconds>   timeout, from the time when the manifests are applied (default 60; 240 with --real)
  --real               run the Coder that \`make test-e2e\` has built, with its own license

  CODER_BINARY         a coder binary for the pods; simulated by default
  CODER_LICENSE_FILE   the license to upload; a real coderd only accepts real ones
`;

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    // A second signal ends the demo immediately. Remaining processes end by themselves a second later.
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}

// The terminal or pipe was closed.
process.stdout.on("error", () => stop.abort());

async function optionsOf(args: readonly string[]): Promise<DemoOptions | undefined> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      once: { type: "boolean", default: false },
      within: { type: "string" },
      real: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const withinSeconds = Number(values.within ?? (values.real ? 240 : 60));
  if (!(withinSeconds > 0)) throw new Error("--within needs a number of seconds");
  const { CODER_BINARY: coderBinary, CODER_LICENSE_FILE: licenseFile } = process.env;
  return {
    once: values.once,
    withinMs: withinSeconds * 1_000,
    ...(values.real ? await realCoder() : {}),
    ...(coderBinary ? { coderBinary } : {}),
    ...(licenseFile ? { license: (await readFile(licenseFile, "utf8")).trim() } : {}),
  };
}

/** The Coder and Terraform of the end-to-end tests, with licenses that this Coder accepts. */
async function realCoder(): Promise<WorldOptions> {
  const binaries = await cachedCoderBinaries();
  if (!binaries) throw new Error("the real Coder is not in the cache; `make demo REAL=1` builds it");
  const [license, otherLicense] = await mint(binaries, "enterprise", "premium");
  return { coderBinary: binaries.coder, path: [dirname(binaries.terraform)], license, otherLicense };
}

try {
  const options = await optionsOf(process.argv.slice(2));
  const live = process.stdout.isTTY && !process.env.CI;
  const screen = live
    ? new LiveScreen(process.stdout)
    : new PlainScreen((text) => process.stdout.write(text));
  if (options) {
    const offersRealCoder = !options.coderBinary && (await cachedCoderBinaries()) !== undefined;
    await runDemo(options, { screen, signal: stop.signal, offersRealCoder });
  } else process.stdout.write(HELP);
} catch (error) {
  // After an abort, other errors are consequences of it.
  if (!stop.signal.aborted) {
    process.stderr.write(`demo: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
