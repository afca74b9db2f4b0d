import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeMachine, fakeBinary } from "../../test/support/fake-machine.ts";
import { kubeBinaries } from "./binaries.ts";
import { type BinaryName, binaryNames } from "./pins.ts";

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
});
afterEach(() => machine.remove());

const find = () => kubeBinaries(machine.context());

describe("KUBEBUILDER_ASSETS", () => {
  test("a complete folder is used unchanged", async () => {
    const dir = machine.giveAssets(binaryNames);
    expect(Object.values(await find())).toEqual(binaryNames.map((name) => `${dir}/${name}`));
    expect(machine.built).toEqual([]);
  });

  test("only what the folder lacks is made", async () => {
    const given = binaryNames.filter((name) => name !== "kube-controller-manager");
    const dir = machine.giveAssets(given);
    const found = await find();
    expect(found.etcd).toBe(`${dir}/etcd`);
    expect(machine.built).toEqual(["kube-controller-manager"]);
  });

  test("another minor version is refused by name", async () => {
    machine.giveAssets(binaryNames, "v1.35.2");
    await expect(find()).rejects.toThrow(
      /KUBEBUILDER_ASSETS can't be used: .*assets\/kube.* is version v1\.35\.2, but .* pins v1\.36\.\d+; unset or correct it/,
    );
  });
});

describe("KUBE_VERSION", () => {
  test("chooses another pinned version, which has a separate cache", async () => {
    const newest = await find();
    for (const name of binaryNames) {
      machine.writeExecutable(`templates/${name}`, fakeBinary(name, "v1.30.14"));
    }
    const env = { ...machine.env, KUBE_VERSION: "1.30.14" };
    const older = await kubeBinaries({ ...machine.context(), env });
    expect(older["kube-apiserver"]).toMatch(/kube-controller-runtime\/v1\.30\.14-/);
    expect(machine.built).toEqual([...binaryNames, ...binaryNames]);
    expect(await find()).toEqual(newest);
  });

  test("is refused when it is not pinned, with those that are", async () => {
    const env = { ...machine.env, KUBE_VERSION: "1.31.0" };
    await expect(kubeBinaries({ ...machine.context(), env })).rejects.toThrow(
      /KUBE_VERSION is 1\.31\.0, but the runtime pins 1\.36\.\d+ and 1\.30\.14/,
    );
  });
});

describe("the build", () => {
  test("happens once: later runs find the binaries in the cache", async () => {
    const first = await find();
    expect(await find()).toEqual(first);
    expect(machine.built).toEqual([...binaryNames]);
  });

  test("happens once, regardless of the number of concurrent processes", async () => {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const runs = [1, 2, 3].map(() => spawn(process.execPath, [main], { env: machine.env, stdio: "ignore" }));
    const codes = await Promise.all(runs.map(async (run) => (await once(run, "exit"))[0]));
    expect(codes).toEqual([0, 0, 0]);
    expect(machine.built).toEqual([...binaryNames]);
  });

  test("continues immediately when the building process is killed", async () => {
    const go = readFileSync(`${machine.folder}/bin/go`, "utf8");
    machine.installGo(`#!/bin/sh\ntouch ${machine.folder}/started\nexec sleep 600\n`);
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const builder = spawn(process.execPath, [main], { env: machine.env, stdio: "ignore", detached: true });
    await vi.waitFor(() => readFileSync(`${machine.folder}/started`), { timeout: 10_000 });
    process.kill(-(builder.pid ?? 0), "SIGKILL");
    machine.installGo(go);
    await find();
    expect(machine.built).toEqual([...binaryNames]);
  });

  test("is one call of Go for all that is missing, which says what fails", async () => {
    const go = readFileSync(`${machine.folder}/bin/go`, "utf8");
    machine.installGo(
      go.replace("sleep 0.03", '[ "$name" = kubectl ] && { echo "no space left" >&2; exit 1; }'),
    );
    await expect(find()).rejects.toThrow(`go build of ${binaryNames.join(", ")} failed:\nno space left`);
    expect(machine.built).toEqual(["etcd", "kube-apiserver", "kubectl"]);
    machine.installGo(go);
    await find();
    expect(machine.built.slice(3)).toEqual([...binaryNames]);
  });

  test("refuses a binary of another version", async () => {
    machine.writeExecutable("templates/kubectl", "#!/bin/sh\necho 'Client Version: v1.30.1'\n");
    await expect(find()).rejects.toThrow(/kubectl is version v1\.30\.1, but .* pins v1\.36/);
  });

  test("says which binary it builds in which version", async () => {
    await find();
    expect(machine.lines).toContainEqual(
      expect.stringMatching(/^building kube-apiserver v1\.36\.\d+ with Go/),
    );
    expect(machine.lines).toContainEqual(
      expect.stringMatching(/^built etcd, .*, kube-controller-manager in \d+s$/),
    );
  });

  test("without network and Go, one sentence says what to do", async () => {
    await expect(
      kubeBinaries({ ...machine.context(), env: { ...machine.env, PATH: "/nowhere" } }),
    ).rejects.toThrow(
      "etcd, kube-apiserver, kubectl, kube-controller-manager are not available: the download failed " +
        "(getaddrinfo ENOTFOUND) and Go is not installed; connect to the network, install Go, " +
        "or set KUBEBUILDER_ASSETS to a folder that has them.",
    );
  });
});

describe("a damaged cache is rebuilt", () => {
  const damages: Record<string, (file: string) => void> = {
    "a binary cut short": (file) => truncateSync(file, 10),
    "a binary that never got its seal": (file) => rmSync(`${file}.seal.json`),
    "a seal that is not JSON": (file) => writeFileSync(`${file}.seal.json`, "{"),
    "a deleted binary": (file) => rmSync(file),
    "other content of the same size": (file) =>
      writeFileSync(file, readFileSync(file, "utf8").replace("echo", "ECHO")),
  };

  test.for(Object.entries(damages))("%s", async ([, damage]) => {
    const file = (await find())["kube-apiserver"];
    damage(file);
    await find();
    expect(machine.built.slice(binaryNames.length)).toEqual<BinaryName[]>(["kube-apiserver"]);
    expect(readFileSync(file, "utf8")).toContain("echo");
  });

  test("a copy with other times but the same content is not rebuilt", async () => {
    const { etcd } = await find();
    utimesSync(etcd, 1, 1);
    await find();
    expect(machine.built).toHaveLength(binaryNames.length);
  });

  test("a lock file full of garbage does no harm", async () => {
    await find();
    const lock = `${(await find()).etcd.replace(/\/etcd$/, "")}.lock`;
    writeFileSync(lock, "x".repeat(4096));
    rmSync((await find()).etcd);
    await find();
    expect(machine.built.at(-1)).toBe("etcd");
  });
});
