import type { ConfigMap, Deployment, Secret } from "kube-controller-runtime";
import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { PodFields } from "../../api/v1alpha1/pod.ts";
import { podInputs, remembering, restartSources } from "./restart.ts";
import { podSettings } from "./settings.ts";

const probes = { readiness: { enabled: false }, liveness: { enabled: false } };
const settings = (spec: PodFields & { tls?: object; certs?: object }) => podSettings(spec, probes);

const ca = createCertificateAuthority();
const certificate = ca.issue(["coder.example.com"]);
const tls = { tls: { secretNames: ["web"] } };

type Objects = Readonly<Record<string, { version?: string; values?: Record<string, string> }>>;

function sourcesOf(secrets: Objects, configMaps: Objects = {}) {
  const objectAt = (objects: Objects) => (name: string) => {
    const found = objects[name];
    const data = Object.entries(found?.values ?? {}).map(([key, value]) => [key, btoa(value)]);
    const metadata = { name, resourceVersion: found?.version ?? "1" };
    return found && { metadata, data: Object.fromEntries(data) };
  };
  return {
    secret: objectAt(secrets) as (name: string) => Secret | undefined,
    configMap: objectAt(configMaps) as (name: string) => ConfigMap | undefined,
  };
}

const served = (cert: string, key = certificate.key) => ({
  web: { values: { "tls.crt": cert, "tls.key": key } },
});

describe("what pods read is remembered", () => {
  test("as a hash of certificates only, which reveals neither a key nor a password", () => {
    const pod = settings({ ...tls, certs: { secrets: [{ name: "db", key: "password" }] } });
    const inputs = (password: string, key: string) =>
      podInputs(pod, sourcesOf({ ...served(certificate.cert, key), db: { values: { password } } }));
    expect(inputs("hunter2", "one")).toEqual({ kind: "unknown" });
    const withNoise = (noise: string) => inputs(`${noise}\n${ca.cert}\n${noise}`, noise);
    expect(withNoise("a")).toEqual(withNoise("b"));
    expect(withNoise("a")).toMatchObject({ kind: "known", scope: "Certificates" });
  });

  test("as versions if everything counts, regardless of the contents", () => {
    const pod = settings({
      restartOn: "All",
      extraEnv: [{ name: "A", valueFrom: { secretKeyRef: { name: "db", key: "url" } } }],
    });
    const inputs = (version: string, url: string) =>
      podInputs(pod, sourcesOf({ db: { version, values: { url } } }));
    expect(inputs("1", "a")).toEqual(inputs("1", "b"));
    expect(inputs("1", "a")).not.toEqual(inputs("2", "a"));
  });

  test.each([
    ["nothing is read", {}, "none"],
    ["it is disabled", { ...tls, restartOn: "None" as const }, "none"],
    ["a Secret is missing", { certs: { secrets: [{ name: "absent", key: "ca.crt" }] } }, "unknown"],
    [
      "a Secret of a volume is missing",
      { restartOn: "All" as const, volumes: [{ name: "v", secret: { secretName: "absent" } }] },
      "unknown",
    ],
    [
      "only what is optional is missing",
      { restartOn: "All" as const, envFrom: [{ secretRef: { name: "absent", optional: true } }] },
      "known",
    ],
  ])("when %s: as %s", (_case, spec, kind) => {
    expect(podInputs(settings(spec), sourcesOf(served(certificate.cert))).kind).toBe(kind);
  });
});

test("everything that pods refer to is read where everything counts", () => {
  const names = restartSources(
    settings({
      ...tls,
      restartOn: "All",
      certs: { secrets: [{ name: "ca", key: "ca.crt" }] },
      envFrom: [{ configMapRef: { name: "settings" } }, { secretRef: { name: "oidc" } }],
      extraEnv: [
        { name: "A", valueFrom: { secretKeyRef: { name: "db", key: "url" } } },
        { name: "B", valueFrom: { configMapKeyRef: { name: "flags", key: "b" } } },
        { name: "C", value: "literal" },
      ],
      initContainers: [
        { name: "wait", env: [{ name: "D", valueFrom: { secretKeyRef: { name: "init", key: "d" } } }] },
      ],
      volumes: [
        { name: "one", secret: { secretName: "files" } },
        {
          name: "two",
          projected: { sources: [{ secret: { name: "part" } }, { configMap: { name: "parts" } }] },
        },
      ],
    }),
  );
  expect(names.secrets).toEqual(["web", "ca", "db", "oidc", "init", "files", "part"]);
  expect(names.configMaps).toEqual(["flags", "settings", "parts"]);
});

describe("pods", () => {
  const desired: Deployment = {
    metadata: { name: "coder" },
    spec: { selector: {}, template: { metadata: { annotations: { a: "1" } }, spec: { containers: [] } } },
  };
  const templateOf = ({ spec }: Deployment) => spec?.template;
  const known = (scope: "Certificates" | "All", hash: string) =>
    ({ kind: "known", scope, text: `${scope}-${hash}` }) as const;
  const first = known("Certificates", "one");

  /** Applies a Deployment with these inputs in order, and returns the results. */
  function history(...inputs: Parameters<typeof remembering>[2][]) {
    let present: Deployment | undefined;
    let restarts = 0;
    for (const each of inputs) {
      const next = remembering(desired, present, each);
      present = next.deployment;
      restarts += next.restarts ? 1 : 0;
    }
    return { deployment: present as Deployment, restarts };
  }

  test("of a new Deployment, or of one from an earlier version, have no annotation", () => {
    const { deployment, restarts } = remembering(desired, desired, first);
    expect(restarts).toBe(false);
    expect(templateOf(deployment)).toBe(templateOf(desired));
    expect(history(first).restarts).toBe(0);
  });

  test("are replaced once when their sources have changed, and the mark is kept", () => {
    const changed = history(first, known("Certificates", "two"));
    expect(changed.restarts).toBe(1);
    expect(templateOf(changed.deployment)).not.toEqual(templateOf(desired));
    const later = history(first, known("Certificates", "two"), known("Certificates", "two"));
    expect(later).toEqual(changed);
  });

  test.each([
    ["something is missing for a while", [first, { kind: "unknown" } as const, first]],
    ["it is asked to look at more", [first, known("All", "other")]],
    [
      "it is asked to look at nothing, and again",
      [first, { kind: "none" } as const, known("Certificates", "two")],
    ],
  ])("are not replaced when %s", (_case, inputs) => {
    const { deployment, restarts } = history(...inputs);
    expect(restarts).toBe(0);
    expect(templateOf(deployment)).toEqual(templateOf(desired));
  });

  test("keep the mark when nothing is checked anymore, because removing it would replace them too", () => {
    const marked = history(first, known("Certificates", "two"));
    const { deployment } = history(first, known("Certificates", "two"), { kind: "none" });
    expect(templateOf(deployment)).toEqual(templateOf(marked.deployment));
  });
});
