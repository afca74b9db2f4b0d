import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { Platform, secret } from "./support/platform.ts";

/** Within which a newcomer looks again. */
const LOOK_LIMIT = { withinMs: 10_000 };

interface Mistake {
  readonly mistake: string;
  readonly kind?: "CoderControlPlane" | "CoderProvisioner" | "CoderWorkspaceProxy";
  readonly spec: object;
  /** The column REASON of `kubectl get coder`. */
  readonly reason: string;
  /** The message beside it. */
  readonly says: readonly RegExp[];
}

/** The pods of a control plane start, and stop when they have tried long enough. */
const COMING_UP = "(RollingOut|Stalled)";

const image = inject("place")?.coder?.current ?? "";
const database = (key: string, name = "coder-db") => [
  { name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef: { name, key } } },
];

const MISTAKES: readonly Mistake[] = [
  {
    mistake: "a tag that no image has",
    spec: { image: "ghcr.io/coder/coder:v9.9.9", extraEnv: database("url") },
    reason: "Stalled",
    says: [/image "ghcr.io\/coder\/coder:v9.9.9" cannot be pulled/],
  },
  {
    mistake: "a wrong password of the database",
    spec: { image, extraEnv: database("wrongPassword") },
    reason: COMING_UP,
    says: [/^The database rejects the user or the password in the connection URL/],
  },
  {
    mistake: "a database that does not exist",
    spec: { image, extraEnv: database("noDatabase") },
    reason: COMING_UP,
    says: [/^The database named in the connection URL does not exist/],
  },
  {
    mistake: "a key that the Secret does not have",
    spec: { image, extraEnv: database("urll") },
    reason: "Stalled",
    says: [/"?coder-db"?/, /urll/],
  },
  {
    mistake: "a Secret that does not exist",
    spec: { image, extraEnv: database("url", "coder-database") },
    reason: "Stalled",
    says: [/"coder-database"/],
  },
  {
    mistake: "a password with @ and #",
    spec: { image, extraEnv: database("special") },
    reason: COMING_UP,
    says: [/percent-encode/, /"#" as %23/],
  },
  {
    mistake: "a class of Ingress that the cluster does not have",
    spec: {
      image,
      extraEnv: database("url"),
      expose: { ingress: { className: "ngnix", host: "coder.example.com" } },
    },
    reason: "IngressClassMissing",
    says: [/"ngnix"/],
  },
  {
    mistake: "a certificate that does not exist",
    kind: "CoderWorkspaceProxy",
    spec: {
      image,
      primaryAccessURL: "http://coder",
      proxySessionTokenSecretRef: { name: "proxy-token" },
      tls: { secretNames: ["absent-tls"] },
    },
    reason: "Stalled",
    says: [/"absent-tls"/],
  },
  {
    mistake: "a pool without a license",
    kind: "CoderProvisioner",
    spec: { controlPlaneRef: { name: "coder" } },
    reason: "NotEntitled",
    says: [/license/, /spec\.licenseSecretRef/],
  },
  {
    mistake: "a control plane that does not exist",
    kind: "CoderProvisioner",
    spec: { controlPlaneRef: { name: "codr" } },
    reason: "NotFound",
    says: [/"codr"/],
  },
];

describe.runIf(inject("place")?.coder)("ten seconds after a newcomer's mistake", () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await Platform.open("mistakes", { licensed: false });
    const { cluster, namespace, database } = platform;
    const url = `${database.url}?sslmode=disable`;
    await cluster.apply(secret(namespace, "proxy-token", { token: "given" }));
    const wrong = (part: Partial<Pick<URL, "password" | "pathname">>) =>
      Object.assign(new URL(url), part).href;
    await cluster.apply(
      secret(namespace, "coder-db", {
        url,
        wrongPassword: wrong({ password: "wrong" }),
        noDatabase: wrong({ pathname: "nosuch" }),
        special: url.replace(/:[^:@]+@/, ":p@ss#word@"),
      }),
    );
  });
  afterAll(() => platform?.[Symbol.asyncDispose]());

  test.for(MISTAKES)(
    "kubectl get coder names $mistake",
    async ({ kind = "CoderControlPlane", spec, ...seen }) => {
      const { cluster, namespace } = platform;
      const metadata = { namespace, name: "mistaken" };
      await cluster.apply({ apiVersion: "coder.com/v1alpha1", kind, metadata, spec });
      try {
        await eventually(async () => {
          const shown = await cluster.kubectl(["get", "coder", `--namespace=${namespace}`]);
          const row = shown.split("\n").find((line) => /\/mistaken\s/.test(line));
          expect(row).toMatch(new RegExp(`/mistaken\\s+False\\s+${seen.reason}\\s`));
          const message = await cluster.kubectl([
            ...["get", kind, "mistaken", `--namespace=${namespace}`],
            '--output=jsonpath={.status.conditions[?(@.type=="Ready")].message}',
          ]);
          for (const part of seen.says) expect(message).toMatch(part);
        }, LOOK_LIMIT);
      } finally {
        await cluster.kubectl(["delete", kind, "mistaken", `--namespace=${namespace}`]);
      }
    },
  );

  test("kubectl apply refuses a field that does not exist, and names it", async () => {
    const { cluster, namespace } = platform;
    const metadata = { namespace, name: "mistaken" };
    const manifest = { apiVersion: "coder.com/v1alpha1", kind: "CoderControlPlane", metadata };
    await expect(cluster.apply({ ...manifest, spec: { replica: 2 } })).rejects.toThrow(/spec\.replica/);
  });
});
