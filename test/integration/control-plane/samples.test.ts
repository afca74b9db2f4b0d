import { readFileSync } from "node:fs";
import {
  Deployment,
  Ingress,
  type Kind,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

const labels = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/managed-by": "coder-k8s",
};

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "samples");
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The children of a control plane, by kind. */
async function childrenOf(controlPlane: Stored<CoderControlPlane>) {
  const labelSelector = `app.kubernetes.io/instance=${controlPlane.metadata.name}`;
  const kinds: Kind[] = [ServiceAccount, Role, RoleBinding, Deployment, Service, Ingress];
  const lists = await Promise.all(
    kinds.map((kind) => stage.person.list(kind, { namespace: stage.namespace, labelSelector })),
  );
  return lists.flatMap(({ items }, index) => items.map((child) => ({ kind: kinds[index]?.kind, child })));
}

describe("the full sample", () => {
  let controlPlane: Stored<CoderControlPlane>;
  beforeAll(async () => {
    const file = new URL("../../../config/samples/controlplane-full.yaml", import.meta.url);
    const sample = parse(readFileSync(file, "utf8")) as CoderControlPlane;
    // Its workspace namespace is outside this operator's scope, its database is not there, and its exposure would wait for
    // the first admin.
    const { firstAdmin: _, ...spec } = sample.spec ?? {};
    const rbac = { ...spec.rbac, workspaceNamespaces: [] };
    await stage.create("coder-production", { ...spec, rbac, operatorAccess: { disabled: true } });
    controlPlane = await stage.settled("coder-production");
  });

  test("has every child, each with the common labels and owned by the control plane", async () => {
    const children = await childrenOf(controlPlane);
    const hash = expect.stringMatching(/^coder-server-[0-9a-f]{8}(-workspace-perms)?$/);
    expect(children.map(({ kind, child }) => [kind, child.metadata.name])).toEqual([
      ["ServiceAccount", "coder-server"],
      ["Role", hash],
      ["RoleBinding", hash],
      ["Deployment", "coder-production"],
      ["Service", "coder-production"],
      ["Ingress", "coder-production"],
    ]);
    for (const { child } of children) {
      expect(child.metadata.labels).toMatchObject({
        ...labels,
        "app.kubernetes.io/instance": "coder-production",
      });
      expect(child.metadata.ownerReferences).toEqual([
        {
          apiVersion: "coder.com/v1alpha1",
          kind: "CoderControlPlane",
          name: "coder-production",
          uid: controlPlane.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    }
  });

  test("gives its pods all that it says", async () => {
    const { spec } = await stage.get(Deployment, "coder-production");
    const pod = spec?.template.spec;
    expect({ ...pod, containers: undefined }).toMatchSnapshot("pod");
    expect(pod?.containers).toMatchSnapshot("containers");
  });

  test("binds the ServiceAccount to a Role with the workspace verbs and the extra rule", async () => {
    const [role, binding] = (await childrenOf(controlPlane)).slice(1, 3).map(({ child }) => child);
    const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    expect(role).toMatchObject({
      rules: [
        { apiGroups: [""], resources: ["pods"], verbs },
        { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs },
        { apiGroups: ["apps"], resources: ["deployments"], verbs },
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
      ],
    });
    expect(binding).toMatchObject({
      roleRef: { kind: "Role", name: role?.metadata.name },
      subjects: [{ kind: "ServiceAccount", name: "coder-server", namespace: stage.namespace }],
    });
  });

  test("reports a TLS URL", () => {
    const url = `https://coder-production.${stage.namespace}.svc.cluster.local:443`;
    expect(controlPlane.status).toMatchObject({ url, phase: "Pending", readyReplicas: 0 });
  });
});

describe("a control plane with an empty spec", () => {
  test("shows its defaults to clients", async () => {
    const manifest = {
      apiVersion: "coder.com/v1alpha1",
      kind: "CoderControlPlane",
      metadata: { name: "minimal", namespace: stage.namespace },
      spec: {},
    };
    await stage.cluster.apply(manifest);
    const { stdout } = await stage.cluster.kubectl([
      "get",
      "ccp",
      "minimal",
      "-n",
      stage.namespace,
      "-o",
      "yaml",
    ]);
    expect(parse(stdout).spec).toEqual({
      certs: {},
      envUseClusterAccessURL: true,
      image: "ghcr.io/coder/coder:latest",
      livenessProbe: { enabled: false, initialDelaySeconds: 0 },
      operatorAccess: { disabled: false },
      rbac: { enableDeployments: true, workspacePerms: true },
      readinessProbe: { enabled: true, initialDelaySeconds: 0 },
      replicas: 1,
      service: { port: 80, type: "ClusterIP" },
      serviceAccount: { disableCreate: false },
      tls: {},
      upgrade: { strategy: "Safe", drainTimeoutSeconds: 600 },
    });
  });

  test("gets all that it needs to serve inside the cluster", async () => {
    const controlPlane = await stage.settled("minimal");
    const children = await childrenOf(controlPlane);
    expect(children.map(({ kind }) => kind)).toEqual([
      "ServiceAccount",
      "Role",
      "RoleBinding",
      "Deployment",
      "Service",
    ]);
    expect(await stage.get(Deployment, "minimal")).toMatchObject(minimalDeployment(stage.namespace));
    expect((await stage.get(Service, "minimal")).spec).toMatchObject({
      type: "ClusterIP",
      ports: [{ name: "http", port: 80, targetPort: 8080 }],
      selector: { ...labels, "app.kubernetes.io/instance": "minimal" },
    });
    expect(controlPlane.status?.url).toBe(`http://minimal.${stage.namespace}.svc.cluster.local:80`);
  });
});

function minimalDeployment(namespace: string) {
  const url = `http://minimal.${namespace}.svc.cluster.local`;
  return {
    spec: {
      replicas: 1,
      selector: { matchLabels: { ...labels, "app.kubernetes.io/instance": "minimal" } },
      template: {
        spec: {
          serviceAccountName: "minimal",
          containers: [
            {
              name: "coder",
              image: "ghcr.io/coder/coder:latest",
              args: ["--http-address=0.0.0.0:8080"],
              env: [
                { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
                { name: "CODER_DERP_SERVER_RELAY_URL", value: "http://$(KUBE_POD_IP):8080" },
                { name: "CODER_CLUSTER_HOST", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
                { name: "CODER_ACCESS_URL", value: url },
              ],
              ports: [
                { name: "http", containerPort: 8080 },
                { name: "cluster", containerPort: 6222 },
              ],
              readinessProbe: { httpGet: { path: "/healthz", port: "http" }, periodSeconds: 10 },
            },
          ],
        },
      },
    },
  };
}
