import type { V1Pod } from "@kubernetes/client-node";
import { createCertificateAuthority, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { TIME_LIMIT } from "./support/cluster.ts";
import { operatorImage } from "./support/operator.ts";
import { CODER, Platform, secret } from "./support/platform.ts";

const DOMAIN = "svc.cluster.local";
/** All three are replaced, one waiting for the other. */
const ROLLOUT_LIMIT = { withinMs: 180_000 };
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

    /** The response of a Service to a pod of another namespace, by its name. */
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

    /** A daemon that has not reached coderd takes its time to end. */
    const daemonsAreIdle = async () => {
      const staying = (await pods("coder-provisioner")).filter(
        ({ metadata }) => !metadata?.deletionTimestamp,
      );
      const names = staying.map(({ metadata }) => metadata?.name).sort();
      expect(names).toHaveLength(2);
      const daemons = await platform.admin.daemons();
      const idle = daemons.filter(({ status }) => status === "idle").map(({ name }) => name);
      expect(idle.sort()).toEqual(names);
    };

    test("has a daemon in every pod of the pool, which coderd lists as idle", async () => {
      await eventually(daemonsAreIdle, TIME_LIMIT);
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
      const url = `https://coder.${namespace}.${DOMAIN}/healthz`;
      await eventually(async () => expect(await verified(url, authority.cert)).toBe("OK"), TIME_LIMIT);
      const stranger = createCertificateAuthority();
      expect(await verified(url, stranger.cert)).toMatch(/^[A-Z_]*(CERT|SIGNATURE)/);
      await eventually(daemonsAreIdle, TIME_LIMIT);
      await eventually(
        async () => expect(await platform.admin.proxy("edge")).toMatchObject({ healthy: true }),
        TIME_LIMIT,
      );
    });

    /** The response to a pod from a server with a certificate of this authority, or why the pod does not trust it. */
    const verified = (url: string, ca: string) =>
      platform.cluster.kubectl(
        [
          ...["exec", "--stdin", `--namespace=${platform.workspaceNamespace}`, "verifier", "--"],
          ...["/nodejs/bin/node", "-e", ASK, url],
        ],
        ca,
      );

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
        }, ROLLOUT_LIMIT);
    };

    const change = (object: string, spec: object) =>
      platform.cluster.kubectl([
        ...["patch", object, `--namespace=${platform.namespace}`, "--type=merge"],
        `--patch=${JSON.stringify({ spec })}`,
      ]);

    /** A pod outside of the control plane's namespace, from which Services are asked. */
    async function startClient(): Promise<void> {
      const namespace = platform.workspaceNamespace;
      const { place } = platform.cluster;
      const clients = {
        client: { image: place.coder?.current, command: ["sleep", "3600"] },
        // It verifies certificates, which busybox does not.
        verifier: {
          image: operatorImage(place),
          command: ["/nodejs/bin/node", "-e", "setInterval(() => {}, 1e6)"],
        },
      };
      for (const [name, container] of Object.entries(clients))
        await platform.cluster.apply({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { namespace, name },
          spec: { terminationGracePeriodSeconds: 0, containers: [{ name, ...container }] },
        });
      const names = Object.keys(clients).map((name) => `pod/${name}`);
      const wait = ["wait", "--for=condition=Ready", "--timeout=60s", `--namespace=${namespace}`];
      await platform.cluster.kubectl([...wait, ...names]);
    }
  },
);

/** Asks the URL of its argument, and trusts the authority that it reads. */
const ASK = `
  const ca = require("fs").readFileSync(0, "utf8");
  require("https").get(process.argv[1], { ca }, (response) => response.pipe(process.stdout))
    .on("error", ({ code }) => process.stdout.write(code));`;

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
