import { eventually } from "kube-controller-runtime/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { controlPlane, Tenant, type Wish } from "./tenant.ts";

const cluster = sharedCluster();
const tenant = new Tenant(cluster, "tenant");
const admin = new Tenant(cluster, "admin-of-all");
const secretRule = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
const roleGroup = "rbac.authorization.k8s.io";

let own: string;
let foreign: string;
beforeAll(async () => {
  [own, foreign] = [await cluster.createNamespace("tenant"), await cluster.createNamespace("other")];
  await tenant.becomeEditor(own);
  await cluster.kubectl([
    "create",
    "clusterrolebinding",
    "admin-of-all",
    "--clusterrole=cluster-admin",
    "--user=admin-of-all",
  ]);
  const denied = controlPlane(own, "probe", { rbac: { workspaceNamespaces: ["kube-system"] } });
  await eventually(async () => expect((await tenant.write(denied)).because).toContain("denied"), {
    withinMs: 20_000,
  });
});

function rbac(name: string, spec: object): Wish {
  return controlPlane(own, name, { rbac: spec });
}

/** A user who may write control planes and Deployments of a namespace and nothing else. */
async function deployerIn(namespace: string): Promise<Tenant> {
  const writer = new Tenant(cluster, `deployer-in-${namespace}`);
  for (const verb of ["create", "patch", "get"])
    await writer.allow(namespace, verb, "codercontrolplanes.coder.com");
  await writer.allow(namespace, "create", "deployments.apps");
  return writer;
}

async function expectDenied(wish: Wish, because: string | RegExp, who = tenant): Promise<void> {
  const verdict = await who.write(wish);
  expect(verdict.because).toMatch(because);
  expect(verdict.accepted).toBe(false);
}

async function expectAccepted(wish: Wish, who = tenant): Promise<void> {
  expect(await who.write(wish)).toEqual({ accepted: true, because: "" });
}

describe("a user who may edit one namespace", () => {
  test("runs a control plane in it", () => expectAccepted(controlPlane(own, "plain")));

  test("cannot take over the cluster through kube-system, and neither can other users", async () => {
    const evil = rbac("evil", { workspaceNamespaces: ["kube-system"] });
    await expectDenied(evil, /namespaces of Kubernetes/);
    await expectDenied(evil, /namespaces of Kubernetes/, admin);
    // Two policies deny this one, and either may be the one that is reported.
    const greedy = rbac("evil", { workspaceNamespaces: ["kube-system"], extraRules: [secretRule] });
    await expectDenied(greedy, /namespaces of Kubernetes|cannot escalate/);
  });

  test("runs workspaces in another namespace only with permission to bind roles there", async () => {
    const reaching = rbac("reaching", { workspaceNamespaces: [` ${foreign} `] });
    await expectDenied(reaching, `cannot create rolebindings in namespace "${foreign}"`);
    const allowed = await cluster.createNamespace("allowed");
    await tenant.allow(allowed, "create", `rolebindings.${roleGroup}`);
    await expectAccepted(rbac("allowed", { workspaceNamespaces: [allowed] }));
    await expectDenied(
      rbac("allowed", { workspaceNamespaces: [allowed, foreign] }),
      `namespace "${foreign}"`,
    );
  });

  test("grants extra rules only where they may escalate roles, in each namespace that the rules reach", async () => {
    await expectDenied(
      rbac("extra", { extraRules: [secretRule] }),
      `cannot escalate roles in namespace "${own}"`,
    );
    const namespace = await cluster.createNamespace("escalating");
    await tenant.becomeEditor(namespace);
    await tenant.allow(namespace, "escalate", `roles.${roleGroup}`);
    const target = await cluster.createNamespace("target");
    await tenant.allow(target, "create", `rolebindings.${roleGroup}`);
    const extra = (spec: object) =>
      controlPlane(namespace, "extra", { rbac: { extraRules: [secretRule], ...spec } });
    await expectAccepted(extra({}));
    await expectDenied(
      extra({ workspaceNamespaces: [target] }),
      `cannot escalate roles in namespace "${target}"`,
    );
  });

  test("creates a backup only with permission to create it", async () => {
    const backedUp = (backup: object) => controlPlane(own, "backed-up", { upgrade: { backup } });
    await expectAccepted(backedUp({ cronJobName: "dump" }));
    const cluster = { cloudNativePG: { clusterName: "db" } };
    await expectDenied(backedUp(cluster), `cannot create backups in namespace "${own}"`);
    await tenant.allow(own, "create", "backups.postgresql.cnpg.io");
    await expectAccepted(backedUp(cluster));
  });

  test("names the first admin of coderd only with permission to create pods", async () => {
    const deployer = await deployerIn(own);
    const firstAdmin = { email: "admin@example.com" };
    const wish = (spec: object) => controlPlane(own, "with-admin", spec);
    await expectDenied(wish({ firstAdmin }), `cannot create pods in namespace "${own}"`, deployer);
    await expectAccepted(wish({ firstAdmin }), admin);
    await expectAccepted(wish({ firstAdmin, image: "coder:next" }), deployer);
    const other = { email: "other@example.com" };
    await expectDenied(wish({ firstAdmin: other }), "cannot create pods", deployer);
    await deployer.allow(own, "create", "pods");
    await expectAccepted(wish({ firstAdmin: other }), deployer);
  });

  test.for([
    ["CoderOrganization", "coderorganizations"],
    ["CoderGroup", "codergroups"],
  ] as const)(
    "describes what is inside coderd by a %s only with permission to create pods",
    async ([kind, plural]) => {
      const namespace = await cluster.createNamespace("inside");
      const writer = new Tenant(cluster, `writer-of-${plural}`);
      for (const verb of ["create", "patch", "get"])
        await writer.allow(namespace, verb, `${plural}.coder.com`);
      const object = (spec: object = {}) => {
        return { ...controlPlane(namespace, "team", { controlPlaneRef: { name: "coder" }, ...spec }), kind };
      };
      const because = `cannot create pods in namespace "${namespace}"`;
      await expectDenied(object(), because, writer);
      await expectAccepted(object(), admin);
      await expectDenied(object({ deletionPolicy: "Delete" }), because, writer);
      // The annotation chooses the entity, too.
      const patch = (annotations: object) => writer.patch(object(), { metadata: { annotations } });
      expect((await patch({ "coder.com/entity-id": "another" })).because).toContain(because);
      expect(await patch({ "gitops.example/revision": "2" })).toEqual({ accepted: true, because: "" });
      await writer.allow(namespace, "create", "pods");
      await expectAccepted(object({ deletionPolicy: "Delete" }), writer);
      await expectAccepted({ ...object(), metadata: { namespace, name: "another" } }, writer);
    },
  );

  test("sets the sync of organizations only with permission to create pods", async () => {
    const namespace = await cluster.createNamespace("sync");
    const deployer = await deployerIn(namespace);
    const synced = (field: string, more = {}) =>
      controlPlane(namespace, "synced", { organizationSync: { field }, ...more });
    const because = `cannot create pods in namespace "${namespace}"`;
    await expectDenied(synced("groups"), because, deployer);
    await expectAccepted(synced("groups"), admin);
    await expectAccepted(synced("groups", { image: "coder:next" }), deployer);
    await expectDenied(synced("roles"), because, deployer);
    await deployer.allow(namespace, "create", "pods");
    await expectAccepted(synced("roles"), deployer);
  });

  test("exposes pods by a Gateway only with permission to create routes, and by an Ingress without it", async () => {
    const exposed = (expose: object, more = {}) => controlPlane(own, "exposed", { expose, ...more });
    const gateway = { host: "coder.example.com", parentRefs: [{ name: "public", namespace: "infra" }] };
    await expectAccepted(exposed({ ingress: { host: "coder.example.com" } }));
    await expectDenied(exposed({ gateway }), `cannot create httproutes in namespace "${own}"`);
    await expectAccepted(exposed({ gateway }), admin);
    await expectAccepted(exposed({ gateway }, { image: "coder:next" }));
    const other = { ...gateway, host: "other.example.com" };
    await expectDenied(exposed({ gateway: other }), "cannot create httproutes");
    await tenant.allow(own, "create", "httproutes.gateway.networking.k8s.io");
    await expectAccepted(exposed({ gateway: other }));
  });

  test.for([
    ["CoderControlPlane", {}],
    ["CoderProvisioner", { controlPlaneRef: { name: "coder" } }],
  ] as const)(
    "gives the pods of a %s no namespace and no rule that they may not give",
    async ([kind, spec]) => {
      const of = (rbac: object) => ({ ...controlPlane(own, "pool", { ...spec, rbac }), kind });
      await expectAccepted(of({ enableDeployments: false }));
      await expectDenied(
        of({ workspaceNamespaces: [foreign] }),
        `cannot create rolebindings in namespace "${foreign}"`,
      );
      await expectDenied(of({ extraRules: [secretRule] }), "cannot escalate roles");
      await expectDenied(
        of({ workspaceNamespaces: ["kube-system"] }),
        /namespaces of Kubernetes|cannot create/,
      );
    },
  );

  test("has PodDisruptionBudgets, identities and load balancers only with permission to create them", async () => {
    const namespace = await cluster.createNamespace("no-children");
    const writer = await deployerIn(namespace);
    const cases = [
      ["poddisruptionbudgets.policy", { podDisruptionBudget: { minAvailable: 1 } }],
      ["serviceaccounts", { serviceAccount: { annotations: { "iam.example.com/role": "admin" } } }],
      ["services", { service: { type: "LoadBalancer" } }],
    ] as const;
    for (const [resource, spec] of cases) {
      const [plural = ""] = resource.split(".");
      const object = controlPlane(namespace, plural, spec);
      await expectDenied(object, `cannot create ${plural} in namespace "${namespace}"`, writer);
      await expectAccepted(object, admin);
      await expectAccepted(controlPlane(namespace, plural, { ...spec, image: "coder:next" }), writer);
      await writer.allow(namespace, "create", resource);
      await expectAccepted(controlPlane(namespace, `${plural}-2`, spec), writer);
    }
  });

  test("exposes pods by an Ingress only with permission to create ingresses", async () => {
    const namespace = await cluster.createNamespace("no-ingress");
    const writer = await deployerIn(namespace);
    const exposed = controlPlane(namespace, "none", { expose: { ingress: { host: "coder.example.com" } } });
    await expectDenied(exposed, `cannot create ingresses in namespace "${namespace}"`, writer);
  });

  test("labels ServiceAccounts and Services only with permission to create both", async () => {
    const namespace = await cluster.createNamespace("no-labels");
    const writer = await deployerIn(namespace);
    const labeled = (more = {}) =>
      controlPlane(namespace, "labeled", { labels: { team: "platform" }, ...more });
    await expectDenied(labeled(), /spec.labels: user .* cannot create serviceaccounts/, writer);
    await writer.allow(namespace, "create", "serviceaccounts");
    await expectDenied(labeled(), /spec.labels: user .* cannot create services/, writer);
    await expectAccepted(labeled(), admin);
    await expectAccepted(labeled({ image: "coder:next" }), writer);
    await expectDenied(labeled({ labels: { team: "other" } }), "spec.labels: user", writer);
    await writer.allow(namespace, "create", "services");
    await expectAccepted(labeled({ labels: { team: "other" } }), writer);
  });

  test.for([
    ["ingresses", { expose: { ingress: { host: "coder.example.com" } } }],
    ["httproutes", { expose: { gateway: { host: "coder.example.com", parentRefs: [{ name: "public" }] } } }],
    ["poddisruptionbudgets", { podDisruptionBudget: { minAvailable: 1 } }],
  ] as const)("labels existing %s only with permission to create them", async ([resource, spec]) => {
    const namespace = await cluster.createNamespace("no-labels");
    const writer = await deployerIn(namespace);
    for (const plural of ["serviceaccounts", "services"]) await writer.allow(namespace, "create", plural);
    const labeled = (team: string, more = {}) =>
      controlPlane(namespace, "there", { ...spec, labels: { team }, ...more });
    await expectAccepted(labeled("platform"), admin);
    await expectAccepted(labeled("platform", { image: "coder:next" }), writer);
    await expectDenied(labeled("other"), `cannot create ${resource} in namespace "${namespace}"`, writer);
  });

  test("names a ServiceAccount of the operator only with permission to create one", async () => {
    const namespace = await cluster.createNamespace("no-names");
    const writer = await deployerIn(namespace);
    const named = (serviceAccount: object) => controlPlane(namespace, "named", { serviceAccount });
    const because = /spec.serviceAccount.name: user .* cannot create serviceaccounts/;
    await expectDenied(named({ name: "payments" }), because, writer);
    await expectAccepted(named({ name: "payments", disableCreate: true }), writer);
    await expectDenied(named({ name: "payments", disableCreate: false }), because, writer);
    await writer.allow(namespace, "create", "serviceaccounts");
    await expectAccepted(named({ name: "payments" }), writer);
  });

  test.for([
    ["CoderProvisioner", "coderprovisioners"],
    ["CoderWorkspaceProxy", "coderworkspaceproxies"],
  ] as const)("scales a %s only with permission to scale deployments", async ([kind, plural]) => {
    const namespace = await cluster.createNamespace("no-scale");
    const writer = new Tenant(cluster, `scaler-in-${namespace}`);
    for (const verb of ["get", "update", "patch"])
      for (const path of [plural, `${plural}/scale`])
        await writer.allow(namespace, verb, `${path}.coder.com`);
    const spec = { controlPlaneRef: { name: "coder" } };
    await expectAccepted({ ...controlPlane(namespace, "pool", spec), kind }, admin);
    const scale = (replicas: number) =>
      writer.kubectl(["scale", plural, "pool", "-n", namespace, `--replicas=${replicas}`]);
    const because = `cannot update deployments/scale in namespace "${namespace}"`;
    expect((await scale(5)).stderr).toContain(because);
    expect(await scale(1)).toMatchObject({ code: 0 });
    await writer.allow(namespace, "update", "deployments/scale.apps");
    expect(await scale(5)).toMatchObject({ code: 0 });
  });

  test.for([
    ["CoderControlPlane", {}],
    ["CoderProvisioner", { controlPlaneRef: { name: "coder" } }],
    ["CoderWorkspaceProxy", { controlPlaneRef: { name: "coder" } }],
  ] as const)("has no %s without permission to create deployments", async ([kind, spec]) => {
    const namespace = await cluster.createNamespace("no-pods");
    const writer = new Tenant(cluster, "writer");
    for (const verb of ["create", "patch", "get"])
      await writer.allow(namespace, verb, `${kind.toLowerCase().replace(/y$/, "ie")}s.coder.com`);
    const object = { ...controlPlane(namespace, "none"), kind, spec };
    await expectDenied(object, `cannot create deployments in namespace "${namespace}"`, writer);
  });
});

describe("an object that an administrator wrote", () => {
  test("may be changed by an editor in all that grants nothing", async () => {
    const spec = { workspaceNamespaces: [foreign], extraRules: [secretRule] };
    await expectAccepted(rbac("given", spec), admin);
    const patch = (patch: object) => tenant.patch(controlPlane(own, "given"), patch);
    const accepted = { accepted: true, because: "" };
    expect(await patch({ metadata: { labels: { "gitops.example/revision": "2" } } })).toEqual(accepted);
    expect(await patch({ spec: { image: "coder:next" } })).toEqual(accepted);
    expect(await patch({ spec: { rbac: { extraRules: [] } } })).toEqual(accepted);
    const back = await patch({ spec: { rbac: { extraRules: [secretRule] } } });
    expect(back.because).toContain("cannot escalate roles");
  });

  test("gives an editor no more by switching on what it left off", async () => {
    const off = { workspaceNamespaces: [foreign], workspacePerms: false };
    await expectAccepted(rbac("off", off), admin);
    const on = { ...off, workspacePerms: true, enableDeployments: false };
    await expectDenied(rbac("off", on), `namespace "${foreign}"`);
    await expectAccepted(rbac("off", on), admin);
    await expectDenied(rbac("off", { ...on, enableDeployments: true }), `namespace "${foreign}"`);
  });
});

describe("a long list of namespaces", () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `team-${index}`);

  test("of twenty, with extra rules in all, is checked within what the API server spends on policies", () =>
    expectAccepted(rbac("twenty", { workspaceNamespaces: names(20), extraRules: [secretRule] }), admin));

  test("of more is denied with the limit named, unless the others were there before", async () => {
    await expectDenied(
      rbac("more", { workspaceNamespaces: names(21) }),
      "at most 20 namespaces can be added",
      admin,
    );
    await expectAccepted(rbac("more", { workspaceNamespaces: names(20) }), admin);
    await expectAccepted(rbac("more", { workspaceNamespaces: names(40) }), admin);
  });

  test("is denied for a forbidden namespace at any index", async () => {
    const namespaces = await Promise.all(names(20).map(() => cluster.createNamespace("many")));
    for (const namespace of namespaces.slice(0, 19))
      await tenant.allow(namespace, "create", `rolebindings.${roleGroup}`);
    await expectDenied(rbac("last", { workspaceNamespaces: namespaces }), `namespace "${namespaces[19]}"`);
  });
});
