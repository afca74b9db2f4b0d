import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeMachine, fakeBinary } from "../../test/support/fake-machine.ts";
import { currentPlatform } from "../binaries/platform.ts";
import { kubeBinaries } from "./binaries.ts";

const { os, arch } = currentPlatform();
const hash = (algorithm: string, bytes: Uint8Array | string) =>
  createHash(algorithm).update(bytes).digest("hex");

let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
});
afterEach(() => machine.remove());

/** The official hosts, with envtest archives of the given versions. */
function hosts(
  versions: readonly string[],
  tamper: { archive?: string; release?: string } = {},
): typeof fetch {
  const release = fakeBinary("kube-controller-manager");
  const files = new Map<string, Uint8Array<ArrayBuffer> | string>();
  const releases: Record<string, object> = {};
  for (const version of versions) {
    const name = `envtest-${version}-${os}-${arch}.tar.gz`;
    const archive = envtestArchive(version);
    releases[version] = { [name]: { hash: hash("sha512", archive), selfLink: `https://archives/${name}` } };
    files.set(name, tamper.archive ?? archive);
  }
  files.set("envtest-releases.yaml", JSON.stringify({ releases }));
  files.set("kube-controller-manager", tamper.release ?? release);
  files.set("kube-controller-manager.sha256", `${hash("sha256", release)}\n`);
  return async (input) => {
    const body = files.get(String(input).split("/").at(-1) ?? "");
    return body === undefined ? new Response("", { status: 404 }) : new Response(body);
  };
}

function envtestArchive(version: string): Uint8Array<ArrayBuffer> {
  const dir = join("archive", version, "controller-tools", "envtest");
  mkdirSync(join(machine.folder, dir), { recursive: true });
  for (const name of ["etcd", "kube-apiserver", "kubectl"]) {
    machine.writeExecutable(join(dir, name), fakeBinary(name, version));
  }
  return new Uint8Array(
    execFileSync("tar", ["-czC", join(machine.folder, "archive", version), "controller-tools"]),
  );
}

test("official files make a build unnecessary", async () => {
  const found = await kubeBinaries(machine.context(hosts(["v1.36.3"])));
  expect(readFileSync(found["kube-apiserver"], "utf8")).toContain("Kubernetes v1.36.3");
  expect(readFileSync(found["kube-controller-manager"], "utf8")).toContain("Kubernetes v1.36.3");
  expect(machine.built).toEqual([]);
});

test("the newest patch of the pinned minor replaces a patch without an archive", async () => {
  const found = await kubeBinaries(machine.context(hosts(["v1.36.0", "v1.36.2", "v1.35.9", "v1.37.0"])));
  expect(readFileSync(found["kube-apiserver"], "utf8")).toContain("v1.36.2");
});

test("an archive that does not match its published hash is not used", async () => {
  await kubeBinaries(machine.context(hosts(["v1.36.3"], { archive: "not what was published" })));
  expect(machine.lines.join("\n")).toContain("does not match its published hash");
  expect(machine.built).toHaveLength(4);
});

test("a release binary that does not match its published hash is built instead", async () => {
  await kubeBinaries(machine.context(hosts(["v1.36.3"], { release: "not what was published" })));
  expect(machine.built).toEqual(["kube-controller-manager"]);
});

test("a minor version without any archive is built", async () => {
  await kubeBinaries(machine.context(hosts(["v1.35.0"])));
  expect(machine.lines).toContainEqual(expect.stringContaining("no envtest archive of Kubernetes 1.36"));
  expect(machine.built).toHaveLength(4);
});
