import { readdirSync, readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Client,
  Deployment,
  httpTransport,
  type KubeObject,
  kind,
  loadCredentials,
  systemClock,
  type Transport,
} from "kube-controller-runtime";
import { adminClient } from "kube-controller-runtime/testing";
import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { defaultValues } from "../../../src/plugin/commands/import-helm/chart-defaults.ts";
import { desiredObjects } from "../../../src/plugin/commands/import-helm/desired-objects.ts";
import { type Difference, differences } from "../../../src/plugin/commands/import-helm/differences.ts";
import { expected } from "../../../src/plugin/commands/import-helm/expected.ts";
import { isEmpty, isObject, type JsonObject } from "../../../src/plugin/commands/import-helm/json.ts";
import type { ChartName, Release } from "../../../src/plugin/commands/import-helm/release.ts";
import { type Manifest, translate } from "../../../src/plugin/commands/import-helm/translate.ts";
import { withValues } from "../../../src/plugin/commands/import-helm/values.ts";
import { coderCharts } from "../../../tools/coder/charts.ts";
import { OLDER, readPins } from "../../../tools/coder/pins.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Helm, helmFor, succeeded } from "../../support/helm.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";

/** Written from what the charts and our builders really make: `vitest -u` renews it. */
const PAGE = "../../../docs/reference/import-differences.md";
const folder = fileURLToPath(new URL("../../fixtures/helm-values", import.meta.url));
const files = readdirSync(folder).map((file) => ({ file, chart: file.split("-")[0] as ChartName }));
const given = (file: string) => parse(readFileSync(join(folder, file), "utf8")) as JsonObject;

let charts: string;
let helm: Helm;
let person: Client;
let namespace: string;
beforeAll(async () => {
  const cluster = sharedCluster();
  [charts, helm, person, namespace] = await Promise.all([
    coderCharts(),
    helmFor(cluster),
    adminClient(cluster),
    cluster.createNamespace("import-helm"),
  ]);
  for (const chart of ["coder", "provisioner"])
    succeeded(await helm.run(["dependency", "build", join(charts, chart)]));
}, 120_000);
afterAll(async () => {
  await rm(charts, { recursive: true, force: true });
  await helm?.[Symbol.asyncDispose]();
});

function releaseOf(file: string, chart: ChartName): Release {
  const values = withValues(defaultValues[chart], given(file));
  const name = file.replace(".yaml", "");
  return { name, namespace, chart, version: undefined, appVersion: undefined, values, given: given(file) };
}

/** As the API server stores it, with the defaults of our CRDs. */
async function stored(manifest: Manifest): Promise<Manifest> {
  const plurals = {
    CoderControlPlane: "codercontrolplanes",
    CoderProvisioner: "coderprovisioners",
    CoderWorkspaceProxy: "coderworkspaceproxies",
  };
  const ofKind = kind<KubeObject>(manifest.apiVersion, {
    kind: manifest.kind,
    plural: plurals[manifest.kind],
  });
  const ref = { namespace, name: manifest.metadata.name };
  const object = await person.create(ofKind, manifest as unknown as KubeObject);
  await person.delete(ofKind, ref);
  return object as unknown as Manifest;
}

/** Paths of all values: what holds nothing, or no object. */
function leaves(value: unknown, path = ""): string[] {
  const entries = isObject(value) ? Object.entries(value) : [];
  if (entries.length === 0) return [path];
  return entries.flatMap(([name, below]) => leaves(below, path ? `${path}.${name}` : name));
}

/** What a test of this file found, for the page of differences. */
const seen = new Set<string>();

describe.each(files)("$file", ({ file, chart }) => {
  test("becomes an object that runs what the chart runs, but for differences that have a reason", async () => {
    const release = releaseOf(file, chart);
    const rendered = await helm.manifests({ ...release, chart: join(charts, chart), values: release.given });
    const found = differences(rendered, desiredObjects(await stored(translate(release).manifest)));
    const unexplained = found.filter(({ because }) => because === undefined);
    expect(
      unexplained.map(({ kind, path, before, after }) => `${kind} ${path}: ${before} → ${after}`),
    ).toEqual([]);
    for (const { because } of found) seen.add(because ?? "");
  });

  test("has a field or a remark for each of its values", () => {
    const { manifest, remarks } = translate(releaseOf(file, chart));
    expect({ ...manifest, metadata: { name: manifest.metadata.name }, remarks }).toMatchSnapshot();
  });
});

describe("a release that Helm installed with the older chart", () => {
  const values = {
    coder: { image: { tag: "v2.26.0" }, ingress: { enable: true, host: "coder.example.com" } },
  };
  const clock = systemClock;
  let transport: Transport;
  let installed: string;
  let older: string;
  beforeAll(async () => {
    const cluster = sharedCluster();
    older = await coderCharts(OLDER);
    succeeded(await helm.run(["dependency", "build", join(older, "coder")]));
    installed = await cluster.createNamespace("import-release");
    transport = httpTransport(await loadCredentials({ kubeconfig: cluster.admin.kubeconfig }, clock));
    const release = { name: "production", namespace: installed, chart: join(older, "coder"), values };
    succeeded(await helm.release("install", release));
  }, 60_000);
  afterAll(async () => {
    transport.close();
    await rm(older, { recursive: true, force: true });
  });
  /** The command by a person who may do everything but requests of these paths. */
  const callWithout = (forbidden: RegExp, ...words: string[]) => {
    const allowed = limited(transport, ({ path }) => !forbidden.test(path));
    return kubectlCoder({ transport: allowed, clock, namespace: installed }, "import", "helm", ...words);
  };
  const call = (...words: string[]) => callWithout(/^$/, "production", ...words);

  test("is printed as a manifest from its Secret, and nothing needs a review", async () => {
    const printed = await call();
    expect(printed).toMatchObject({ code: 0, error: "" });
    expect(parse(printed.out)).toMatchObject({
      kind: "CoderControlPlane",
      metadata: { name: "coder", namespace: installed },
      spec: { image: "ghcr.io/coder/coder:v2.26.0", expose: { ingress: { host: "coder.example.com" } } },
    });
    const { code, out } = await call("--check", "-o", "json");
    const found = (JSON.parse(out) as { differences: Difference[] }).differences;
    expect(found.filter(({ because }) => because === undefined)).toEqual([]);
    expect(code).toBe(0);
    for (const { because } of found) seen.add(because ?? "");
  });

  test("that was changed manually needs attention, with the field and without values of variables", async () => {
    const ref = { namespace: installed, name: "coder" };
    const { spec } = await person.get(Deployment, ref);
    const [container] = spec?.template.spec?.containers ?? [];
    const env = [...(container?.env ?? []), { name: "EXTRA", value: "s3cr3t-marker" }];
    const template = { spec: { containers: [{ ...container, env }] } };
    await person.mergePatch(Deployment, ref, { spec: { replicas: 4, template } });
    const { code, out } = await call("--check");
    expect(code).toBe(3);
    expect(out).toMatch(/To review:(.|\n)*spec\.replicas\n {4}4 -> 1/);
    expect(out).toContain("env[EXTRA]");
    expect(out).not.toContain("s3cr3t-marker");
  });

  test("is compared as far as the person may read, with a line for what they may not", async () => {
    const { out } = await callWithout(/\/(services|roles)\//, "production", "--check");
    expect(out).toContain(`You may not get services in namespace "${installed}".`);
    expect(out).not.toMatch(/^ {2}(Service|Role) as a whole/m);
  });

  test("can't be read without permission to list Secrets, and the error names an alternative", async () => {
    const { code, error } = await callWithout(/\/secrets/, "production");
    expect(code).toBe(1);
    expect(error).toMatch(/may not list secrets.*--values/);
  });

  test("is not found by another name", async () => {
    const { code, error } = await callWithout(/^$/, "other");
    expect({ code, error }).toEqual({
      code: 1,
      error: `kubectl coder: Namespace "${installed}" has no deployed Helm release "other" in a Secret.\n`,
    });
  });
});

describe.each(["coder", "provisioner"] as const)("the values files for the chart %s", (chart) => {
  const paths = files.filter((one) => one.chart === chart).flatMap(({ file }) => leaves(given(file)));

  test("together use every value that the chart has", async () => {
    const values = leaves(parse(await readFile(join(charts, chart, "values.yaml"), "utf8")));
    const isUsed = (leaf: string) => paths.some((path) => path === leaf || path.startsWith(`${leaf}.`));
    expect(values.filter((leaf) => !isUsed(leaf))).toEqual([]);
  });

  test("are based on the chart's own defaults", async () => {
    const values = parse(await readFile(join(charts, chart, "values.yaml"), "utf8")) as JsonObject;
    expect(defaultValues[chart]).toEqual(withoutEmpty(withValues({}, values)));
  });
});

function withoutEmpty(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).map(([name, below]) => [name, withoutEmpty(below)] as const);
  return Object.fromEntries(kept.filter(([, below]) => !isEmpty(below)));
}

test("the page of differences matches these tests, and has no unused reason", async () => {
  expect(expected.map(({ because }) => because).filter((because) => !seen.has(because))).toEqual([]);
  await expect(differencesPage()).toMatchFileSnapshot(PAGE);
});

function differencesPage(): string {
  const rows = expected.map(({ shows, because }) => `| ${shows} | ${because} |`);
  return `# What differs after an import

What the operator runs for the manifest that \`kubectl coder import helm\` prints, compared field by field with what Coder's
charts run. A test renders the charts of Coder ${readPins(currentPlatform()).binaries.coder.version.slice(1)} with values files that together use every value of both,
applies the manifests to an API server, compares, and writes this page: there are no other differences. See
[import a Helm release](../how-to/import-helm.md) and [values of the charts](chart-values.md).

| Differs | Why |
|---|---|
${rows.join("\n")}
`;
}
