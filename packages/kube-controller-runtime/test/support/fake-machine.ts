import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeBinariesContext } from "../../testing/kube/binaries.ts";
import type { BinaryName } from "../../testing/kube/pins.ts";

/** Prints its version like the real binary, and has a different size. */
export function fakeBinary(name: string, kubernetes = "v1.36.3"): string {
  const says = name === "etcd" ? "etcd Version: 3.6.8" : `Kubernetes ${kubernetes}`;
  return `#!/bin/sh\n# ${name}\necho "${says}"\n`;
}

/**
 * Replaces `go build` of one or more packages: records the request, waits briefly, and writes fake binaries.
 * `go list` prints nothing.
 */
const FAKE_GO = (folder: string) => `#!/bin/sh
[ "$1" = build ] || exit 0
while [ "$1" != "-o" ]; do shift; done
output=$2
shift 2
for package; do
  executable=$(basename "\${package%/v[0-9]*}")
  case $package in
    go.etcd.io/*) name=etcd ;;
    ./licensed) case $GOFLAGS in *-modfile=*) name=coder-old ;; *) name=coder ;; esac ;;
    */cmd/coder) name=coder-oss ;;
    *) name=$executable ;;
  esac
  echo "$name" >> "${folder}/built"
  sleep 0.03
  cp "${folder}/templates/$name" "$output$executable"
done
`;

/** A machine with its own cache folder, a Go chosen by the test, and a network that responds to `fetch`. */
export class FakeMachine {
  readonly folder = mkdtempSync(join(tmpdir(), "runtime-kube-test-"));
  readonly lines: string[] = [];
  readonly #assets: Record<string, string> = {};

  constructor() {
    mkdirSync(join(this.folder, "bin"));
    mkdirSync(join(this.folder, "templates"));
    for (const name of ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"]) {
      this.writeExecutable(join("templates", name), fakeBinary(name));
    }
    this.installGo(FAKE_GO(this.folder));
  }

  installGo(script: string): void {
    this.writeExecutable("bin/go", script);
  }

  /** Sets KUBEBUILDER_ASSETS to a folder with these binaries. */
  giveAssets(names: readonly BinaryName[], kubernetes?: string): string {
    const dir = join(this.folder, "assets");
    mkdirSync(dir);
    for (const name of names) this.writeExecutable(join("assets", name), fakeBinary(name, kubernetes));
    this.#assets.KUBEBUILDER_ASSETS = dir;
    return dir;
  }

  /** The requests to `go build` so far, in order. */
  get built(): string[] {
    const file = join(this.folder, "built");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }

  get env(): NodeJS.ProcessEnv {
    // Includes only what the fake scripts need of the real machine, which may have Go.
    return {
      ...this.#assets,
      PATH: `${join(this.folder, "bin")}:/usr/bin:/bin`,
      XDG_CACHE_HOME: join(this.folder, "cache"),
    };
  }

  context(fetch: KubeBinariesContext["fetch"] = offline): KubeBinariesContext {
    return { env: this.env, fetch, log: (line) => this.lines.push(line) };
  }

  writeExecutable(path: string, content: string | Buffer): void {
    writeFileSync(join(this.folder, path), content);
    chmodSync(join(this.folder, path), 0o755);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** No network. */
async function offline(): Promise<Response> {
  throw new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND") });
}
