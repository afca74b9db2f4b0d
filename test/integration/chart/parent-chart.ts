import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { chartDir, type Helm, type HelmResult, type Manifest, succeeded } from "../../support/helm.ts";

/** A chart that has ours as a part of it, once for each name. */
async function parentChart(parts: readonly string[]): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "coder-k8s-parent-"));
  await cp(chartDir, join(path, "charts/coder-k8s"), { recursive: true });
  const dependencies = parts.map((alias) => ({ name: "coder-k8s", version: manifest.version, alias }));
  const chart = { apiVersion: "v2", name: "parent", version: "1.0.0", dependencies };
  await writeFile(join(path, "Chart.yaml"), stringify(chart));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** What helm makes of our chart with many values at once, by the name of each; one run of it costs as much as many. */
export async function renderAll(
  helm: Helm,
  values: Readonly<Record<string, object>>,
): Promise<{ result: HelmResult; of: (name: string) => Manifest[]; refusals: (name: string) => string[] }> {
  await using parent = await parentChart(Object.keys(values).filter((name) => name !== "global"));
  const release = { name: "any", namespace: "default", chart: parent.path, values };
  const result = await helm.release("template", release);
  return {
    result,
    of: (name) => manifestsOf(succeeded(result).stdout, name),
    refusals: (name) => refusalsOf(result.stderr, name),
  };
}

/** Each manifest begins with the name of its template. */
function manifestsOf(stdout: string, part: string): Manifest[] {
  const source = `# Source: parent/charts/${part}/`;
  return stdout
    .split(/^---\n/m)
    .filter((document) => document.startsWith(source))
    .map((document) => parse(document) as Manifest | null)
    .filter((object) => object !== null);
}

/** A part's name stands alone on a line, followed by a line for each of its mistakes. */
function refusalsOf(stderr: string, part: string): string[] {
  const lines = stderr.split("\n");
  const own = lines.slice(lines.indexOf(`${part}:`) + 1);
  const end = own.findIndex((line) => !line.startsWith("- "));
  return lines.includes(`${part}:`) ? own.slice(0, end < 0 ? undefined : end) : [];
}
