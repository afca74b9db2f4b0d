import {
  Deployment,
  fnv1a32,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/**
 * The children of a control plane as a release before ours wrote them, as whole objects: written manually,
 * because what our own builders make must match what is in clusters already.
 */
export function earlierChildren(owner: Stored<CoderControlPlane>): { kind: Kind; object: KubeObject }[] {
  const { name, uid, namespace = "" } = owner.metadata;
  const labels = {
    "app.kubernetes.io/name": "coder-control-plane",
    "app.kubernetes.io/instance": name,
    "app.kubernetes.io/managed-by": "coder-k8s",
  };
  const ownerReferences = [
    {
      apiVersion: "coder.com/v1alpha1",
      kind: "CoderControlPlane",
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ];
  const meta = (childName: string, more: object = {}) => ({
    name: childName,
    namespace,
    labels,
    ownerReferences,
    ...more,
  });
  const grant = `${name}-${fnv1a32(`${namespace}\0${name}`)}`;
  const grantMeta = {
    labels: { ...labels, "coder.com/control-plane": name, "coder.com/control-plane-namespace": namespace },
    annotations: { "coder.com/workspace-rbac-owner-uid": uid },
  };
  const account = { labels: { ...labels, team: "platform" }, annotations: { "example.com/role": "coder" } };
  const role = `${grant}-workspace-perms`;
  const children: [Kind, object][] = [
    [ServiceAccount, { metadata: meta(name, account) }],
    [Role, { metadata: meta(role, grantMeta), rules: rules() }],
    [
      RoleBinding,
      {
        metadata: meta(grant, grantMeta),
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: role },
        subjects: [{ kind: "ServiceAccount", name, namespace }],
      },
    ],
    [Deployment, { metadata: meta(name), spec: deploymentSpec(labels, { name, namespace }) }],
    [
      Service,
      {
        metadata: meta(name, { annotations: { "example.com/pool": "a" } }),
        spec: {
          type: "ClusterIP",
          selector: labels,
          ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }],
        },
      },
    ],
  ];
  return children.map(([kind, object]) => ({ kind, object: object as KubeObject }));
}

function rules(): object[] {
  return [
    { apiGroups: [""], resources: ["pods"], verbs },
    { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs },
    { apiGroups: ["apps"], resources: ["deployments"], verbs },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  ];
}

function deploymentSpec(labels: object, { name, namespace }: { name: string; namespace: string }): object {
  return {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: name,
        nodeSelector: { disk: "ssd" },
        containers: [
          {
            name: "coder",
            image: "ghcr.io/coder/coder:latest",
            args: ["--http-address=0.0.0.0:8080", "--verbose"],
            env: [
              { name: "KUBE_POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
              { name: "CODER_DERP_SERVER_RELAY_URL", value: "http://$(KUBE_POD_IP):8080" },
              { name: "CODER_ACCESS_URL", value: `http://${name}.${namespace}.svc.cluster.local` },
              { name: "COLOR", value: "blue" },
            ],
            ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
            readinessProbe: {
              httpGet: { path: "/healthz", port: "http", scheme: "HTTP" },
              periodSeconds: 10,
              timeoutSeconds: 1,
              successThreshold: 1,
              failureThreshold: 3,
            },
          },
        ],
      },
    },
  };
}
