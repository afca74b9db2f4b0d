import { readFileSync } from "node:fs";
import { apiObject } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import * as kinds from "../../../src/api/v1alpha1/kinds.ts";
import { type ControllerOptions, commandLine } from "../../../src/cli/options.ts";
import { differences, presentFiles } from "../../../tools/generate/compare.ts";
import { withInstallManifest } from "../../../tools/generate/install.ts";
import { generatedFiles } from "../../../tools/generate/outputs.ts";
import { releaseNames, withReleaseNames } from "../../../tools/generate/release-names.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { chartDir, type Helm, helmFor, type Manifest, only, succeeded } from "../../support/helm.ts";
import { combinations } from "./combinations.ts";
import { renderAll } from "./parent-chart.ts";
import { prometheusOperatorCrds } from "./prometheus-operator.ts";

const cluster = sharedCluster();
const repository = new URL("../../../", import.meta.url);
const release = { name: "coder-k8s", namespace: "coder-system" };

let helm: Helm;
beforeAll(async () => {
  helm = await helmFor(cluster);
  for (const crd of prometheusOperatorCrds) {
    await cluster.apply(crd);
    const name = `crd/${crd.metadata.name}`;
    succeeded(await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=30s", name]));
  }
});
afterAll(() => helm?.[Symbol.asyncDispose]());

interface Container {
  readonly args: readonly string[];
  readonly image: string;
  readonly env: readonly { readonly name: string }[];
}

/** The Deployment's pod template, and the operator's container in it. */
function podOf(manifests: readonly Manifest[]) {
  const { template } = only(manifests, "Deployment").spec as {
    template: { metadata: object; spec: { containers: [Container] } & Record<string, unknown> };
  };
  return { template, container: template.spec.containers[0] };
}

/** What `coder-k8s` makes of the arguments; it ends the process over one that it does not know. */
async function parsed(args: readonly string[]): Promise<ControllerOptions> {
  return new Promise((resolve, reject) => {
    const runController = async (options: ControllerOptions) => resolve(options);
    commandLine({ version: "test", runController }).parseAsync(args, { from: "user" }).catch(reject);
  });
}

function read(path: string): string {
  return readFileSync(new URL(path, repository), "utf8");
}

describe("the chart", () => {
  test("passes helm's own check without a warning", async () => {
    const { code, stdout, stderr } = await helm.run(["lint", chartDir, "--strict"]);
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(stdout).not.toMatch(/\[(WARNING|ERROR)\]/);
  });

  test("has the version of the operator that it installs", () => {
    const { version, appVersion } = parse(read("charts/coder-k8s/Chart.yaml"));
    expect({ version, appVersion }).toEqual({ version: manifest.version, appVersion: manifest.version });
  });

  test("is the source of the plain manifests", async () => {
    const root = repository.pathname.replace(/\/$/, "");
    const wanted = await withInstallManifest(root, withReleaseNames(root, generatedFiles()));
    expect(differences(wanted, presentFiles(root))).toEqual([]);
  });

  test("names the image of a release in its plain manifests when IMAGE is set", async () => {
    const root = repository.pathname.replace(/\/$/, "");
    const names = releaseNames({ IMAGE: "registry.example/team/coder-k8s" });
    const files = await withInstallManifest(root, withReleaseNames(root, generatedFiles(), names));
    const install = files.get("config/install.yaml") ?? "";
    expect(install).toContain(`image: ${names.image}:${manifest.version}\n`);
    expect(install).not.toContain(manifest.config.image);
  });

  test.for([
    ["says how to build its image when a checkout installs it", {}, true],
    [
      "says nothing of building when the image is in a registry",
      { image: { repository: "r.example/k" } },
      false,
    ],
  ] as const)("%s", async ([, values, isLocal]) => {
    const { stdout } = succeeded(await helm.release("install", { ...release, values }, "--dry-run=client"));
    const notes = stdout.slice(stdout.indexOf("NOTES:"));
    expect(notes.includes("docker build")).toBe(isLocal);
    // The namespace of the tutorials.
    expect(notes).toContain("kubectl create namespace coder\n");
    expect(notes.includes(`${manifest.config.image}:${manifest.version}`)).toBe(isLocal);
  });

  test("describes in its schema every value there is, and no other", () => {
    const {
      global: _,
      enabled: __,
      ...properties
    } = JSON.parse(read("charts/coder-k8s/values.schema.json")).properties;
    expect(pathsOfSchema(properties).sort()).toEqual(
      pathsOf(parse(read("charts/coder-k8s/values.yaml"))).sort(),
    );
  });
});

/** Values that are maps for users to fill have no paths below them. */
function pathsOf(values: object, schema = JSON.parse(read("charts/coder-k8s/values.schema.json"))): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const described = schema.properties?.[name];
    return described?.properties ? pathsOf(value, described).map((path) => `${name}.${path}`) : [name];
  });
}

function pathsOfSchema(properties: Record<string, { description?: string; properties?: object }>): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    expect(schema.description, name).toMatch(/\.$/);
    const inner = schema.properties as typeof properties | undefined;
    return inner ? pathsOfSchema(inner).map((path) => `${name}.${path}`) : [name];
  });
}

describe("with its defaults", () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await helm.manifests(release);
  });

  test("grants exactly the generated ClusterRole", () => {
    const { rules } = parse(read("config/rbac/clusterrole.yaml"));
    expect(only(manifests, "ClusterRole", "coder-k8s").rules).toEqual(rules);
  });

  test("allows the operator to write Leases in its own namespace only", () => {
    const isForLeases = ({ rules }: Manifest) => JSON.stringify(rules ?? []).includes("leases");
    const roles = manifests.filter(isForLeases);
    expect(roles.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([["Role", "coder-system"]]);
  });

  test.for(["view", "edit", "admin"])(
    "adds our kinds to the role %s of Kubernetes, and no status",
    (role) => {
      const { metadata, rules } = only(manifests, "ClusterRole", `coder-k8s-${role}`);
      expect(metadata.labels).toMatchObject({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true" });
      expect(JSON.stringify(rules)).not.toContain("status");
    },
  );

  test("has the generated admission policies, each with its binding", () => {
    const isPolicy = ({ kind }: { kind: string }) => kind.startsWith("ValidatingAdmissionPolicy");
    const shape = ({ kind, metadata, spec }: Manifest) => [kind, metadata.name, spec];
    const generated = parseAllDocuments(read("config/policy/tenancy.yaml")).map((part) => part.toJS());
    const byName = (a: unknown[], b: unknown[]) => (`${a[0]} ${a[1]}` < `${b[0]} ${b[1]}` ? -1 : 1);
    expect(manifests.filter(isPolicy).map(shape).sort(byName)).toEqual(generated.map(shape).sort(byName));
    expect(generated).toHaveLength(16);
  });

  test.for(Object.values(kinds).map(({ plural }) => plural))(
    "has the generated CRD of %s, which outlives the release",
    (plural) => {
      const { metadata, spec } = only(manifests, "CustomResourceDefinition", `${plural}.coder.com`);
      expect(spec).toEqual(parse(read(`config/crd/coder.com_${plural}.yaml`)).spec);
      expect(metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
    },
  );

  test("runs pods that a namespace with the restricted security standard admits", async () => {
    const namespace = await cluster.createNamespace("restricted");
    const label = "pod-security.kubernetes.io/enforce=restricted";
    succeeded(await cluster.kubectl(["label", "namespace", namespace, label]));
    const { template } = podOf(manifests);
    const create = (spec: object) => {
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "operator", namespace }, spec };
      return cluster.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pod));
    };
    succeeded(await create(template.spec));
    expect((await create({ ...template.spec, securityContext: {} })).stderr).toContain(
      "violates PodSecurity",
    );
  });

  test("runs the image that package.json names with flags that the operator knows", async () => {
    const { container } = podOf(manifests);
    expect(container.image).toBe(`${manifest.config.image}:${manifest.version}`);
    expect(container.env.map(({ name }) => name)).toEqual(["POD_NAMESPACE"]);
    expect(await parsed(container.args)).toEqual(await parsed(["controller"]));
  });
});

describe("namespaces to watch", () => {
  const watchNamespaces = ["team-a", "team-b"];
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await helm.manifests({ ...release, values: { watchNamespaces } });
  });

  test("become the operator's", async () => {
    expect(await parsed(podOf(manifests).container.args)).toMatchObject({ namespaces: watchNamespaces });
  });

  test("have the generated Role each, and nothing is granted beyond them but the Lease", () => {
    const [{ rules }] = parseAllDocuments(read("config/rbac/namespaced/role.yaml")).map((part) =>
      part.toJS(),
    );
    const lease = [
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "patch"] },
    ];
    const roles = manifests.filter(({ kind }) => kind === "Role");
    expect(manifests.filter(({ kind }) => kind === "ClusterRoleBinding")).toEqual([]);
    expect(roles.map((role) => [role.metadata.namespace, role.kind, role.rules])).toEqual([
      ["coder-system", "Role", lease],
      ["team-a", "Role", rules],
      ["team-b", "Role", rules],
    ]);
  });
});

test("the cluster's domain becomes the operator's", async () => {
  const manifests = await helm.manifests({ ...release, values: { clusterDomain: "k8s.corp" } });
  const { args } = podOf(manifests).container;
  expect(await parsed(args)).toMatchObject({ clusterDomain: "k8s.corp" });
});

test("metrics with authentication need a token, the right to have it reviewed, and a role for who scrapes", async () => {
  const values = { metrics: { auth: true, serviceMonitor: { enabled: true } }, watchNamespaces: ["team"] };
  const manifests = await helm.manifests({ ...release, values });
  expect(await parsed(podOf(manifests).container.args)).toMatchObject({ metricsAuth: true });
  const reviews = (group: string, resource: string) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: ["create"],
  });
  expect(only(manifests, "ClusterRole", "coder-k8s-metrics-auth").rules).toEqual([
    reviews("authentication.k8s.io", "tokenreviews"),
    reviews("authorization.k8s.io", "subjectaccessreviews"),
  ]);
  expect(only(manifests, "ClusterRoleBinding", "coder-k8s-metrics-auth")).toMatchObject({
    roleRef: { name: "coder-k8s-metrics-auth" },
    subjects: [{ name: "coder-k8s", namespace: "coder-system" }],
  });
  expect(only(manifests, "ClusterRole", "coder-k8s-metrics-reader").rules).toEqual([
    { nonResourceURLs: ["/metrics"], verbs: ["get"] },
  ]);
  const { endpoints } = only(manifests, "ServiceMonitor").spec as { endpoints: object[] };
  expect(endpoints).toMatchObject([{ bearerTokenFile: expect.stringContaining("serviceaccount/token") }]);
});

test("lockdown restricts the network, requires a token of scrapers, and allows adding a Postgres on another port", async () => {
  const ports = async (values: object) => {
    const manifests = await helm.manifests({ ...release, values: { lockdown: true, ...values } });
    expect(await parsed(podOf(manifests).container.args)).toMatchObject({ metricsAuth: true });
    const { egress } = only(manifests, "NetworkPolicy").spec as { egress: { ports?: { port: number }[] }[] };
    return egress.flatMap((rule) => rule.ports?.map(({ port }) => port));
  };
  const closed = [53, 53, 443, 6443, 8080, 8443, 80, 5432];
  expect(await ports({})).toEqual(closed);
  const egress = [{ ports: [{ port: 6432 }] }];
  expect(await ports({ networkPolicy: { egress } })).toEqual([...closed, 6432]);
});

describe("the API server accepts", () => {
  const cases = [
    { name: "CRDs that outlive the release", values: { crds: { keep: true } } },
    {
      name: "CRDs that do not, with a label",
      values: { crds: { keep: false }, commonLabels: { team: "platform" } },
    },
    ...combinations().map(({ name, values }) => ({ name, values: { ...values, crds: { enabled: false } } })),
  ].map((one, index) => ({ ...one, part: `part-${index}` }));
  let rendered: Awaited<ReturnType<typeof renderAll>>;
  beforeAll(async () => {
    rendered = await renderAll(helm, Object.fromEntries(cases.map(({ part, values }) => [part, values])));
  });

  test.for(cases)("$name", async ({ part }) => {
    const manifests = rendered.of(part);
    await Promise.all(manifests.map((manifest) => dryRun(manifest)));
    await parsed(podOf(manifests).container.args);
  });
});

/** Applies an object without effect, and strictly: an unknown field is an error. */
async function dryRun(manifest: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = manifest;
  const plural = `${kind.toLowerCase().replace(/y$/, "ie")}s`;
  const within = metadata.namespace ? `/namespaces/${metadata.namespace}` : "";
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const how = "dryRun=All&force=true&fieldManager=chart&fieldValidation=Strict";
  const path = `${group}${within}/${plural}/${metadata.name}?${how}`;
  const { server, caFile, admin } = cluster;
  const apply = {
    method: "PATCH",
    path,
    body: manifest,
    contentType: "application/apply-patch+yaml",
  } as const;
  await apiObject({ server, caFile, token: admin.token }, apply);
}

describe("an object", () => {
  test("has the annotations for all, and its own where both name one", async () => {
    const values = {
      commonAnnotations: { owner: "platform", role: "all" },
      serviceAccount: { annotations: { role: "own" } },
      watchNamespaces: ["team"],
      networkPolicy: { enabled: true },
      metrics: { serviceMonitor: { enabled: true } },
      alerts: { enabled: true },
      dashboard: { enabled: true },
    };
    const manifests = await helm.manifests({ ...release, values });
    const owners = manifests.map(({ metadata }) => (metadata.annotations as { owner: string }).owner);
    expect(owners).toEqual(manifests.map(() => "platform"));
    expect(only(manifests, "ServiceAccount").metadata.annotations).toMatchObject({ role: "own" });
    expect(
      only(manifests, "CustomResourceDefinition", "coderprovisioners.coder.com").metadata.annotations,
    ).toEqual({
      owner: "platform",
      role: "all",
      "helm.sh/resource-policy": "keep",
    });
  });

  test("for Prometheus is where that looks, and chooses the operator's namespace from there", async () => {
    const elsewhere = { enabled: true, namespace: "monitoring" };
    const values = { metrics: { serviceMonitor: elsewhere }, alerts: elsewhere };
    const manifests = await helm.manifests({ ...release, values });
    const { metadata, spec } = only(manifests, "ServiceMonitor");
    expect(metadata.namespace).toBe("monitoring");
    expect(spec).toMatchObject({ namespaceSelector: { matchNames: ["coder-system"] } });
    expect(only(manifests, "PrometheusRule").metadata.namespace).toBe("monitoring");
  });
});

describe("refuses by name what its schema does not allow", () => {
  const refused: [object, string][] = [
    [{ replica: 3 }, "additional properties 'replica' not allowed"],
    [{ crds: { enabeld: true } }, "at '/crds': additional properties 'enabeld' not allowed"],
    [{ resources: { limitz: { cpu: 1 } } }, "at '/resources': additional properties 'limitz' not allowed"],
    [{ podSecurityContext: { runAsNonroot: true } }, "at '/podSecurityContext': additional properties"],
    [{ securityContext: { capabilities: { dropp: ["ALL"] } } }, "at '/securityContext/capabilities'"],
    [{ tolerations: [{ key: "gpu", efect: "NoSchedule" }] }, "at '/tolerations/0'"],
    [{ affinity: { nodeAfinity: {} } }, "at '/affinity': additional properties 'nodeAfinity' not allowed"],
    [
      { topologySpreadConstraints: [{ maxSkew: 1 }] },
      "at '/topologySpreadConstraints/0': missing properties",
    ],
    [{ extraEnv: [{ name: "A", valueFrom: { secretRef: {} } }] }, "at '/extraEnv/0/valueFrom'"],
    [
      { extraVolumes: [{ name: "ca", configmap: {} }] },
      "at '/extraVolumes/0': additional properties 'configmap'",
    ],
    [{ extraVolumeMounts: [{ name: "ca" }] }, "at '/extraVolumeMounts/0': missing property 'mountPath'"],
    [
      { networkPolicy: { egress: [{ port: 443 }] } },
      "at '/networkPolicy/egress/0': additional properties 'port'",
    ],
    [{ networkPolicy: { metricsFrom: [{ namespaces: [] }] } }, "at '/networkPolicy/metricsFrom/0'"],
    [{ logFormat: "logfmt" }, "at '/logFormat': value must be one of 'json', 'text'"],
    [
      { alerts: { rules: { CoderDown: { enabled: false } } } },
      "at '/alerts/rules': additional properties 'CoderDown'",
    ],
    [
      { alerts: { rules: { CoderOperatorDown: { threshold: 2 } } } },
      "additional properties 'threshold' not allowed",
    ],
    [
      { metrics: { serviceMonitor: { relabelings: [{ target: "a" }] } } },
      "at '/metrics/serviceMonitor/relabelings/0'",
    ],
    [{ podDisruptionBudget: { minAvailable: "some" } }, "at '/podDisruptionBudget/minAvailable'"],
    [{ replicas: "two" }, "at '/replicas': got string, want integer"],
    [{ replicas: -1 }, "at '/replicas': minimum"],
    [{ concurrency: 0 }, "at '/concurrency': minimum"],
    [{ logLevel: "trace" }, "at '/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"],
    [{ watchNamespaces: ["Team_A"] }, "at '/watchNamespaces/0'"],
    [{ watchNamespaces: ["a", "a"] }, "at '/watchNamespaces'"],
    [{ image: { digest: "latest" } }, "at '/image/digest'"],
    [{ image: { pullSecrets: ["registry"] } }, "at '/image/pullSecrets/0': got string, want object"],
    [{ podDisruptionBudget: { maxUnavailable: "some" } }, "at '/podDisruptionBudget/maxUnavailable'"],
    [{ metrics: { serviceMonitor: { interval: "often" } } }, "at '/metrics/serviceMonitor/interval'"],
    [{ extraArgs: ["debug"] }, "at '/extraArgs/0'"],
    [{ podLabels: { tier: 1 } }, "at '/podLabels/tier': got number, want string"],
    [{ alerts: { runbookURL: "docs/runbooks.md" } }, "at '/alerts/runbookURL'"],
    [{ alerts: { severity: "page" } }, "at '/alerts': additional properties 'severity' not allowed"],
    [{ dashboard: { labels: { grafana_dashboard: 1 } } }, "at '/dashboard/labels/grafana_dashboard'"],
  ];
  const part = (values: object) => `part-${refused.findIndex(([wrong]) => wrong === values)}`;
  let rendered: Awaited<ReturnType<typeof renderAll>>;
  beforeAll(async () => {
    rendered = await renderAll(helm, Object.fromEntries(refused.map(([values]) => [part(values), values])));
  });

  test.for(refused)("%j", ([values, message]) => {
    expect(rendered.result.code).not.toBe(0);
    expect(rendered.refusals(part(values)).join("\n")).toContain(message);
  });
});

describe("refuses conflicting values by name", () => {
  test.for<[object, string]>([
    [
      { global: { imageRegistry: "registry.internal" } },
      "global.imageRegistry: this chart has no such value",
    ],
    [{ enabled: false }, "enabled: this chart has no such value"],
    [{ extraArgs: ["--no-leader-elect"] }, "replicas: with --no-leader-elect in extraArgs"],
    [{ serviceAccount: { create: false } }, "serviceAccount.name: it is required"],
    [
      { metrics: { enabled: false, serviceMonitor: { enabled: true } } },
      "metrics.serviceMonitor.enabled: it requires metrics.enabled",
    ],
    [{ alerts: { enabled: true } }, "alerts.enabled: it requires metrics.serviceMonitor.enabled"],
  ])("%j", async ([values, message]) => {
    const { code, stderr } = await helm.release("template", { ...release, values });
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });

  test("no value that a parent chart hands down", async () => {
    const values = { global: { storageClass: "fast" }, "coder-k8s": { enabled: true } };
    const { of } = await renderAll(helm, values);
    expect(of("coder-k8s")).not.toEqual([]);
  });
});
