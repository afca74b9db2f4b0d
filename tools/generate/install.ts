import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { helmBinary } from "../helm/binary.ts";
import { differences, presentFiles, writeFiles } from "./compare.ts";
import { type Files, yaml } from "./outputs.ts";
import { operatorName, operatorNamespace } from "./rbac.ts";

const chart = "charts/coder-k8s";
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Metadata that only helm uses. */
const helmMarks = ["helm.sh/chart", "helm.sh/resource-policy", "app.kubernetes.io/managed-by"];

interface Manifest {
  readonly kind: string;
  readonly metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  readonly spec?: { readonly template?: Pick<Manifest, "metadata"> };
}

/**
 * Adds `config/install.yaml`, the chart with its default values for users without helm. Uses the chart in
 * `files`, not the one on disk.
 */
export async function withInstallManifest(root: string, files: Files): Promise<Files> {
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-install-"));
  try {
    await cp(join(root, chart), join(scratch, chart), { recursive: true });
    const ofChart = new Map([...files].filter(([path]) => path.startsWith(`${chart}/`)));
    writeFiles(scratch, ofChart, differences(ofChart, presentFiles(scratch)));
    const manifests = await defaultManifests(join(scratch, chart));
    return new Map([...files, ["config/install.yaml", yaml(namespace, ...manifests.map(withoutHelm))]]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const namespace = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: operatorNamespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
};

async function defaultManifests(chartDir: string): Promise<Manifest[]> {
  const args = ["template", operatorName, chartDir, "--namespace", operatorNamespace];
  const { stdout } = await promisify(execFile)(await helmBinary(), args, { maxBuffer: MAX_OUTPUT_BYTES });
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

function withoutHelm(manifest: Manifest): Manifest {
  const template = manifest.spec?.template;
  return {
    ...manifest,
    metadata: unmarked(manifest.metadata),
    ...(template && {
      spec: { ...manifest.spec, template: { ...template, metadata: unmarked(template.metadata) } },
    }),
  };
}

function unmarked({ labels, annotations, ...metadata }: Manifest["metadata"]): Manifest["metadata"] {
  return { ...metadata, ...only("labels", labels), ...only("annotations", annotations) };
}

/** The map without helm's metadata, or nothing if it is empty. */
function only(name: string, map: Record<string, string> = {}): Record<string, Record<string, string>> {
  const kept = Object.entries(map).filter(([key]) => !helmMarks.includes(key));
  return kept.length === 0 ? {} : { [name]: Object.fromEntries(kept) };
}
