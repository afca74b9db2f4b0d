import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { V1Pod } from "@kubernetes/client-node";
import { createCertificateAuthority, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { TIME_LIMIT } from "./support/cluster.ts";
import { CODER, Platform, secret } from "./support/platform.ts";
import { forwardPort } from "./support/port-forward.ts";

const DOMAIN = "svc.cluster.local";
const CONTROL_PLANE = `codercontrolplane/${CODER}`;

describe.runIf(inject("place")?.coder)(
  "a control plane with two replicas, a pool and a proxy, in real pods",
  () => {
    let platform: Platform;
    beforeAll(async () => {
      platform = await Platform.open("serving", {
        controlPlane: { replicas: 2 },
        pools: { linux: { replicas: 2 } },
      });
    });
    beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
    afterAll(() => platform?.[Symbol.asyncDispose]());

    const pods = (component: string) =>
      platform.cluster.list<V1Pod>([
        "pods",
        `--namespace=${platform.namespace}`,
        `--selector=app.kubernetes.io/name=${component}`,
      ]);

    /** What a pod of another namespace is answered by a Service, by its name. */
    const asked = (url: string) =>
      platform.cluster.kubectl([
        ...["exec", `--namespace=${platform.workspaceNamespace}`, "client", "--"],
        ...["wget", "-q", "-O", "-", url],
      ]);

    test("answers at the name of its Service, from both replicas", async () => {
      await startClient();
      const url = `http://coder.${platform.namespace}.${DOMAIN}`;
      await eventually(async () => expect(await asked(`${url}/healthz`)).toBe("OK"), TIME_LIMIT);
      const addresses = (await pods("coder-control-plane")).map(({ status }) => status?.podIP ?? "");
      expect(addresses).toHaveLength(2);
      for (const address of addresses) expect(await asked(`http://${address}:8080/healthz`)).toBe("OK");
    });

    test("has a daemon in every pod of the pool, which coderd lists as idle", async () => {
      const names = (await pods("coder-provisioner")).map(({ metadata }) => metadata?.name).sort();
      expect(names).toHaveLength(2);
      await eventually(async () => {
        const daemons = await platform.admin.daemons();
        const idle = daemons.filter(({ status }) => status === "idle").map(({ name }) => name);
        expect(idle.sort()).toEqual(names);
      }, TIME_LIMIT);
    });

    test("has a proxy that coderd finds healthy, at the name of its Service", async () => {
      const { namespace } = platform;
      await platform.cluster.apply({
        apiVersion: "coder.com/v1alpha1",
        kind: "CoderWorkspaceProxy",
        metadata: { namespace, name: "edge" },
        spec: {
          controlPlaneRef: { name: "coder" },
          extraEnv: [{ name: "CODER_ACCESS_URL", value: `http://wsproxy-edge.${namespace}.${DOMAIN}` }],
        },
      });
      await untilReady("coderworkspaceproxy/edge");
      await eventually(
        async () => expect(await platform.admin.proxy("edge")).toMatchObject({ healthy: true }),
        TIME_LIMIT,
      );
      expect(await asked(`http://wsproxy-edge.${namespace}.${DOMAIN}/healthz`)).toBe("OK");
    });

    test("serves TLS with the certificate of a Secret, and pool and proxy go on", async () => {
      const { namespace, cluster } = platform;
      const authority = createCertificateAuthority();
      const { cert, key } = authority.issue([`coder.${namespace}.${DOMAIN}`]);
      await cluster.apply({
        ...secret(namespace, "tls", { "tls.crt": cert, "tls.key": key }),
        type: "kubernetes.io/tls",
      });
      await cluster.apply(secret(namespace, "ca", { "ca.crt": authority.cert }));
      const certs = { secrets: [{ name: "ca", key: "ca.crt" }] };
      await change("coderprovisioner/linux", { certs });
      await change("coderworkspaceproxy/edge", { certs });
      await change(CONTROL_PLANE, { tls: { secretNames: ["tls"] }, certs });
      await untilReady(CONTROL_PLANE, "coderprovisioner/linux", "coderworkspaceproxy/edge");
      await eventually(async () => {
        await using forwarded = await forwardPort(cluster.place, { namespace, service: "coder", port: 443 });
        const port = Number(new URL(forwarded.url).port);
        expect(await securely({ port, servername: `coder.${namespace}.${DOMAIN}`, ca: authority.cert })).toBe(
          "OK",
        );
      }, TIME_LIMIT);
    });

    /** Ready for the spec as it is now. */
    const untilReady = async (...objects: string[]) => {
      for (const object of objects)
        await eventually(async () => {
          const { metadata, status } = await platform.cluster.get<ReadyObject>([
            object,
            `--namespace=${platform.namespace}`,
          ]);
          const ready = status?.conditions?.find(({ type }) => type === "Ready");
          expect(ready).toMatchObject({ status: "True", observedGeneration: metadata.generation });
        }, TIME_LIMIT);
    };

    const change = (object: string, spec: object) =>
      platform.cluster.kubectl([
        ...["patch", object, `--namespace=${platform.namespace}`, "--type=merge"],
        `--patch=${JSON.stringify({ spec })}`,
      ]);

    /** A pod outside of the control plane's namespace, from which Services are asked. */
    async function startClient(): Promise<void> {
      const namespace = platform.workspaceNamespace;
      const image = platform.cluster.place.coder?.current;
      await platform.cluster.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace, name: "client" },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: "client", image, command: ["sleep", "3600"] }],
        },
      });
      await platform.cluster.kubectl([
        "wait",
        "--for=condition=Ready",
        "pod/client",
        `--namespace=${namespace}`,
        "--timeout=60s",
      ]);
    }
  },
);

/** What coderd answers behind a certificate that this authority must have issued for this name. */
function securely(target: {
  readonly port: number;
  readonly servername: string;
  readonly ca: string;
}): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", path: "/healthz", agent: false, ...target }, (response) =>
      text(response).then(resolve, reject),
    )
      .on("error", reject)
      .end();
  });
}

interface ReadyObject {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration?: number;
    }[];
  };
}
