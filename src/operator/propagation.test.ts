import { stored } from "kube-controller-runtime/testing";
import type { TObject } from "typebox";
import { describe, expect, test } from "vitest";
import {
  controlPlaneChildren,
  provisionerChildren,
  workspaceProxyChildren,
} from "../../test/support/children.ts";
import {
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
} from "../api/v1alpha1/definitions.ts";
import type { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../api/v1alpha1/kinds.ts";
import type { ResourceDefinition } from "../api/v1alpha1/schema.ts";

/*
 * A field that no builder reads is easy to overlook. Every field of a spec has an example here that must
 * change a child, and a new field fails this test until it has one.
 */

/** Pod fields of every kind. */
const podExamples = {
  affinity: { nodeAffinity: {} },
  annotations: { "example.com/owner": "platform" },
  certs: { secrets: [{ name: "ca", key: "ca.crt" }] },
  command: ["/usr/local/bin/coder"],
  envFrom: [{ configMapRef: { name: "settings" } }],
  extraArgs: ["--verbose"],
  extraEnv: [{ name: "A", value: "1" }],
  hostAliases: [{ ip: "192.0.2.1", hostnames: ["db.example.com"] }],
  image: "registry.example.com/coder:v2",
  imagePullPolicy: "Always" as const,
  imagePullSecrets: [{ name: "registry" }],
  initContainers: [{ name: "wait", image: "busybox" }],
  labels: { team: "platform" },
  lifecycle: { preStop: { exec: { command: ["sleep", "5"] } } },
  livenessProbe: { enabled: true },
  minReadySeconds: 5,
  nodeSelector: { os: "linux" },
  podAnnotations: { "example.com/scrape": "true" },
  podDisruptionBudget: { minAvailable: 1 },
  podLabels: { tier: "web" },
  podSecurityContext: { fsGroup: 1000 },
  presets: { antiAffinity: true, securityContext: true },
  priorityClassName: "high",
  readinessProbe: { enabled: true, periodSeconds: 5 },
  replicas: 3,
  resources: { limits: { cpu: "1" } },
  securityContext: { runAsUser: 1000 },
  strategy: { type: "Recreate" },
  terminationGracePeriodSeconds: 60,
  tolerations: [{ operator: "Exists" }],
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
  volumeMounts: [{ name: "cache", mountPath: "/cache" }],
  volumes: [{ name: "cache", emptyDir: {} }],
};

const servedExamples = {
  expose: { ingress: { host: "coder.example.com" } },
  service: { type: "LoadBalancer" as const },
  tls: { secretNames: ["tls"] },
};

type FieldsOf<T extends { spec?: object }> = keyof NonNullable<T["spec"]> & string;

/**
 * A type error for this type means that a field of the spec has neither an example nor a reason for its
 * absence.
 */
type Missing<Field extends string> = {
  readonly [F in Field as `${F} is ignored so far: see "Add a field" in CONTRIBUTING.md`]: never;
};

function covering<T extends { spec?: object }>() {
  return <Examples extends object, const Without extends string>(
    given: { readonly examples: Examples; readonly withoutChild: readonly Without[] } & Missing<
      Exclude<FieldsOf<T>, keyof Examples | Without>
    >,
  ): { readonly examples: Examples; readonly withoutChild: readonly string[] } => given;
}

const registered = { controlPlaneRef: { name: "coder" } };

const kinds = [
  {
    kind: "CoderControlPlane",
    definition: controlPlaneDefinition,
    childrenOf: (spec: object) => controlPlaneChildren(stored<CoderControlPlane>({ spec })),
    base: {},
    ...covering<CoderControlPlane>()({
      examples: {
        ...podExamples,
        ...servedExamples,
        envUseClusterAccessURL: false,
        rbac: { workspacePerms: false },
        serviceAccount: { name: "runner" },
      },
      /** Fields that affect coderd, references, or only changes, but no child alone. */
      withoutChild: [
        ...["firstAdmin", "internalURL", "licenseSecretRef", "operatorAccess", "organizationSync"],
        ...["restartOn", "upgrade"],
      ],
    }),
  },
  {
    kind: "CoderProvisioner",
    definition: provisionerDefinition,
    childrenOf: (spec: object) =>
      provisionerChildren(stored<CoderProvisioner>({ spec: { controlPlaneRef: {}, ...spec } })),
    base: {},
    ...covering<CoderProvisioner>()({
      examples: {
        ...podExamples,
        autoscaling: { minReplicas: 3, maxReplicas: 5 },
        key: { secretName: "mine" },
        rbac: { workspacePerms: false },
        serviceAccount: { name: "runner" },
      },
      withoutChild: ["bootstrap", "controlPlaneRef", "organizationName", "restartOn", "tags"],
    }),
  },
  {
    kind: "CoderWorkspaceProxy",
    definition: workspaceProxyDefinition,
    childrenOf: (spec: object) => workspaceProxyChildren(stored<CoderWorkspaceProxy>({ spec })),
    base: registered,
    ...covering<CoderWorkspaceProxy>()({
      examples: {
        ...podExamples,
        ...servedExamples,
        derpOnly: true,
        primaryAccessURL: "https://coder.example.com",
        registration: { generatedTokenSecretName: "mine" },
      },
      /** Sources of the token, represented by `registration`. */
      withoutChild: ["bootstrap", "controlPlaneRef", "proxySessionTokenSecretRef", "restartOn"],
    }),
  },
];

const fieldsOf = ({ spec }: ResourceDefinition) => Object.keys((spec as TObject).properties);

describe.each(kinds)("$kind", ({ definition, childrenOf, base, examples, withoutChild }) => {
  test("has an example for every field of its spec", () => {
    expect(
      [...Object.keys(examples), ...withoutChild].sort(),
      'A field without an example is ignored so far: see "Add a field" in CONTRIBUTING.md.',
    ).toEqual(fieldsOf(definition).sort());
  });

  test.each(Object.entries(examples))("passes %s on to a child", (field, example) => {
    expect(childrenOf({ ...base, [field]: example })).not.toEqual(childrenOf(base));
  });
});

describe("every child", () => {
  test.each(kinds)(
    "of a $kind has the operator's labels and the namespace of its parent",
    ({ childrenOf, base }) => {
      for (const child of childrenOf(base)) {
        expect(child.metadata?.namespace).toBe("dev");
        expect(child.metadata?.labels).toMatchObject({
          "app.kubernetes.io/instance": "coder",
          "app.kubernetes.io/managed-by": "coder-k8s",
        });
      }
    },
  );

  test.each(kinds)(
    "of a $kind survives JSON unchanged: nothing in it is undefined",
    ({ childrenOf, base, examples }) => {
      const children = childrenOf({ ...base, ...examples });
      expect(JSON.parse(JSON.stringify(children))).toStrictEqual(children);
    },
  );
});
