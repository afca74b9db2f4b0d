/**
 * Rewrites the snapshot of Kubernetes types from the Kubernetes module that the runtime's testing/kube pins:
 * `node tools/generate/refresh-kubernetes.ts`. Needed after a new Kubernetes version or when a schema uses a
 * type for the first time; requires Go, but builds nothing.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chartTypes } from "./chart-schema.ts";
import { plainSchema } from "./crd.ts";
import { resources } from "./inputs.ts";
import { localName, type Snapshot, snapshotFile } from "./kubernetes.ts";
import { referencesIn, type Schema } from "./structural.ts";

const pin = fileURLToPath(new URL("../../packages/kube-controller-runtime/testing/kube", import.meta.url));

function kubernetesModule(): { version: string; directory: string } {
  const module = "k8s.io/kubernetes";
  execFileSync("go", ["mod", "download", module], { cwd: pin, stdio: "inherit" });
  const line = execFileSync("go", ["list", "-m", "-f", "{{.Version}} {{.Dir}}", module], { cwd: pin });
  const [version = "", directory = ""] = line.toString().trim().split(" ");
  return { version, directory };
}

/** The used types and their dependencies, in alphabetical order. */
function closure(all: Readonly<Record<string, Schema>>, roots: readonly string[]) {
  const used = new Map<string, Schema>();
  const open = [...roots];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name)) continue;
    const definition = all[name];
    if (!definition) throw new Error(`this Kubernetes has no type ${name}`);
    used.set(name, definition);
    open.push(...referencesIn(definition).map(localName));
  }
  return Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const { version, directory } = kubernetesModule();
const openAPI = JSON.parse(readFileSync(join(directory, "api/openapi-spec/swagger.json"), "utf8"));
const ofKinds = resources.flatMap(({ spec, status }) =>
  [spec, status].map(plainSchema).flatMap(referencesIn),
);
const roots = [...ofKinds.map(localName), ...chartTypes()];
const snapshot: Snapshot = {
  kubernetesVersion: version,
  definitions: closure(openAPI.definitions, roots),
};
writeFileSync(snapshotFile, `${JSON.stringify(snapshot, undefined, 1)}\n`);
console.log(`${Object.keys(snapshot.definitions).length} types of Kubernetes ${version}`);
