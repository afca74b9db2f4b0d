import { Service } from "kube-controller-runtime";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import type { Fixture } from "./fixture.ts";

/** Something that is wrong with an object, and what a person sees of it. */
export interface BrokenObject {
  readonly title: string;
  readonly kind:
    | "CoderControlPlane"
    | "CoderProvisioner"
    | "CoderWorkspaceProxy"
    | "CoderOrganization"
    | "CoderGroup";
  readonly name: string;
  readonly spec: object;
  /** The conditions that show it; the first has this reason. */
  readonly shows: readonly [string, ...string[]];
  readonly reason: string;
  readonly remedy: string;
  /** What comes before the object, and what happens to it then. */
  readonly before?: (fixture: Fixture) => Promise<unknown>;
  readonly happens?: (fixture: Fixture) => Promise<unknown>;
}

const database = {
  name: "CODER_PG_CONNECTION_URL",
  valueFrom: { secretKeyRef: { name: "coder-db", key: "url" } },
};
const ownToken = { tokenSecretRef: { name: "owner-token" } };
/** The page quotes it. */
const GROUP_ID = "1d4c6f0e-7d0b-4a57-9d2e-52c1e9a0f5b8";
const image = "ghcr.io/coder/coder:v2.36.1";
const deployed = ["DeploymentReady"] as const;

const pods: readonly BrokenObject[] = [
  {
    title: "An image that does not exist",
    kind: "CoderControlPlane",
    name: "typo",
    spec: { image: "ghcr.io/coder/coder:v2.62.0", operatorAccess: { disabled: true } },
    shows: deployed,
    reason: "Stalled",
    remedy: "Correct `spec.image`. Pods with the previous image continue to serve, as `Available` says.",
    happens: (fixture) =>
      fixture.pod("typo", {
        state: {
          waiting: {
            reason: "ImagePullBackOff",
            message:
              'Back-off pulling image "ghcr.io/coder/coder:v2.62.0": ErrImagePull: ghcr.io/coder/coder:v2.62.0: not found',
          },
        },
      }),
  },
  {
    title: "A container that crashes",
    kind: "CoderControlPlane",
    name: "crashing",
    spec: { image, extraArgs: ["--no-such-flag"], operatorAccess: { disabled: true } },
    shows: deployed,
    reason: "Stalled",
    remedy: "Read the log with the command in the message, and correct the error.",
    happens: (fixture) =>
      fixture.pod("crashing", {
        state: {
          waiting: { reason: "CrashLoopBackOff", message: "back-off 40s restarting failed container" },
        },
        lastState: { terminated: { exitCode: 1, reason: "Error", message: "unknown flag: --no-such-flag" } },
      }),
  },
  {
    title: "A missing Secret of pods",
    kind: "CoderControlPlane",
    name: "secretless",
    spec: { image, extraEnv: [database], operatorAccess: { disabled: true } },
    shows: deployed,
    reason: "Stalled",
    remedy: "Create the Secret. The kubelet retries by itself.",
    happens: (fixture) =>
      fixture.pod("secretless", {
        state: { waiting: { reason: "CreateContainerConfigError", message: 'secret "coder-db" not found' } },
      }),
  },
];

const cluster: readonly BrokenObject[] = [
  {
    title: "A name that is taken",
    kind: "CoderControlPlane",
    name: "taken",
    spec: { image, operatorAccess: { disabled: true } },
    shows: ["ServiceReady", "DeploymentReady"],
    reason: "ServiceNotOurs",
    remedy: "Choose another name, remove the Service, or hand it over with the command in the message.",
    before: ({ stage }) =>
      stage.person.create(Service, { metadata: stage.ref("taken"), spec: { ports: [{ port: 80 }] } }),
  },
  {
    title: "A workspace namespace that the operator does not manage",
    kind: "CoderControlPlane",
    name: "homeless",
    spec: { image, rbac: { workspaceNamespaces: ["team-b"] }, operatorAccess: { disabled: true } },
    shows: ["WorkspaceRBACReady"],
    reason: "NamespaceOutOfScope",
    remedy: "Add the namespace to `watchNamespaces`, or remove it from the list.",
    happens: (fixture) => fixture.serve("homeless"),
  },
  {
    title: "An access URL that the exposure does not serve",
    kind: "CoderControlPlane",
    name: "elsewhere",
    spec: {
      image,
      extraEnv: [{ name: "CODER_ACCESS_URL", value: "https://coder.example.org" }],
      expose: { ingress: { host: "coder.example.com" } },
      operatorAccess: { disabled: true },
    },
    shows: ["AccessURLExposed"],
    reason: "HostDiffers",
    remedy: "Correct the URL or the host, or remove the variable and set `expose.setAccessURL`.",
    happens: (fixture) => fixture.serve("elsewhere"),
  },
];

const coderd: readonly BrokenObject[] = [
  {
    title: "No database",
    kind: "CoderControlPlane",
    name: "databaseless",
    spec: { image, operatorAccess: {} },
    shows: ["DatabaseDurable", "OperatorAccessReady"],
    reason: "BuiltInDatabase",
    remedy:
      "Set the URL of a database. If the operator must not use it, set `operatorAccess.tokenSecretRef`.",
    happens: (fixture) => fixture.serve("databaseless"),
  },
  {
    title: "A license without its Secret",
    kind: "CoderControlPlane",
    name: "unlicensed",
    spec: {
      image,
      extraEnv: [database],
      operatorAccess: ownToken,
      licenseSecretRef: { name: "coder-license" },
    },
    shows: ["LicenseApplied"],
    reason: "SecretMissing",
    remedy: "Create the Secret. The operator then uploads the license within a second.",
    before: (fixture) => fixture.coderd("unlicensed"),
    happens: (fixture) => fixture.serve("unlicensed"),
  },
  {
    title: "A provisioner without its control plane",
    kind: "CoderProvisioner",
    name: "lost",
    spec: { controlPlaneRef: { name: "coder" } },
    shows: ["ControlPlaneReady", "OperatorAccessReady", "DeploymentReady"],
    reason: "NotFound",
    remedy: "Correct `controlPlaneRef.name`, or create the control plane.",
  },
  {
    title: "A provisioner without a license",
    kind: "CoderProvisioner",
    name: "unentitled",
    spec: { controlPlaneRef: { name: "unlicensed" } },
    shows: ["ExternalProvisionersEntitled", "ProvisionerKeyReady"],
    reason: "NotEntitled",
    remedy: "Upload a license that includes external provisioners, which the operator notices by itself.",
  },
  {
    title: "A workspace proxy without its session token",
    kind: "CoderWorkspaceProxy",
    name: "tokenless",
    spec: {
      image,
      bootstrap: { coderURL: "https://coder.example.com", credentialsSecretRef: { name: "coder-session" } },
    },
    shows: ["CredentialsReady", "Registered"],
    reason: "SecretMissing",
    remedy: "Create the Secret with a session token that may manage workspace proxies.",
  },
];

const inside: readonly BrokenObject[] = [
  {
    title: "A first admin without its password",
    kind: "CoderControlPlane",
    name: "passwordless",
    spec: {
      image,
      firstAdmin: { email: "admin@example.com", passwordSecretRef: { name: "coder-admin" } },
      operatorAccess: { disabled: true },
    },
    shows: ["FirstAdminReady"],
    reason: "SecretMissing",
    remedy: "Create the Secret. The operator then creates the user, and exposes coderd if the spec says so.",
    before: (fixture) => fixture.coderd("passwordless", { isEmpty: true }),
    happens: (fixture) => fixture.serve("passwordless"),
  },
  {
    title: "An organization without a license",
    kind: "CoderOrganization",
    name: "research",
    spec: { controlPlaneRef: { name: "unlicensed" } },
    shows: ["Synced", "Stalled"],
    reason: "NotEntitled",
    remedy:
      "Upload a license that includes the feature in the message, which the operator notices by itself.",
  },
  {
    title: "A group that exists already",
    kind: "CoderGroup",
    name: "engineers",
    spec: { controlPlaneRef: { name: "licensed" } },
    shows: ["Synced", "Conflict", "Stalled"],
    reason: "ExistsAlready",
    remedy: "Set `spec.adopt: true` to take the group over, or choose another `spec.name`.",
    before: async (fixture) => {
      const deployment = await fixture.coderd("licensed");
      deployment.addLicense(fakeLicense({ now: fixture.stage.clock.now() }));
      deployment.inside.addGroup(deployment.organizations[0]?.id ?? "", "engineers", { id: GROUP_ID });
      await fixture.stage.create("licensed", { image, extraEnv: [database], operatorAccess: ownToken });
      await fixture.serve("licensed");
    },
  },
];

export const brokenObjects: readonly BrokenObject[] = [...pods, ...cluster, ...coderd, ...inside];
