import { connect } from "node:tls";
import { CoreEvent, type Kind, type KubeObject, Pod } from "kube-controller-runtime";
import { createCertificateAuthority, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { argoHealth } from "../support/argo-health.ts";
import { Tenant } from "./support/tenant.ts";
import { MISSING_TAG, TIME_LIMIT, World } from "./support/world.ts";

const binaries = inject("coder");
const PUBLIC = "coder.public.test";
const DOMAIN = "k8s.corp";
const MINUTE = 60_000;
const ca = createCertificateAuthority("Company CA");
const variable = (name: string, value: string) => ({ name, value });

describe.skipIf(!binaries)(
  "in a cluster with a custom domain, whose coderd has a certificate for its public name only",
  () => {
    let world: World;
    let tenant: Tenant;
    const owned = new AsyncDisposableStack();

    beforeAll(async () => {
      if (!binaries) return;
      world = owned.use(await World.open(binaries, DOMAIN));
      await world.startOperator(world.direct);
      const [license] = await mint(binaries, "enterprise");
      tenant = await Tenant.move(world, "readiness", {
        tls: { secretNames: ["web"] },
        licenseSecretRef: { name: "license" },
        extraEnv: [
          variable("CODER_ACCESS_URL", `https://${PUBLIC}`),
          variable("CODER_REDIRECT_TO_ACCESS_URL", "true"),
        ],
      });
      await tenant.putSecret("license", { license });
    });
    beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
    afterAll(() => owned.disposeAsync());

    async function renew(): Promise<void> {
      const { cert, key } = ca.issue([PUBLIC]);
      await tenant.putSecret("web", { "tls.crt": cert, "tls.key": key, "ca.crt": ca.cert });
    }

    /** Waits until Argo CD calls the object so, and returns what it shows beside. */
    function untilHealth<T extends KubeObject>(kind: Kind<T>, name: string, status: string): Promise<string> {
      return eventually(async () => {
        const health = await argoHealth(kind, await tenant.get(kind, name));
        expect(health).toMatchObject({ status });
        return health.message;
      }, TIME_LIMIT);
    }

    /** The serial number of the certificate that coderd serves at its Service. */
    async function served(): Promise<string> {
      const url = new URL(await world.services.translate(`https://coder.${tenant.namespace}.svc.${DOMAIN}`));
      const socket = connect({ host: url.hostname, port: Number(url.port), servername: PUBLIC, ca: ca.cert });
      try {
        await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
        return socket.getPeerCertificate().serialNumber;
      } finally {
        socket.destroy();
      }
    }

    async function podsOf(app: string): Promise<string[]> {
      const labelSelector = `app.kubernetes.io/name=${app}`;
      const { items } = await world.person.list(Pod, { namespace: tenant.namespace, labelSelector });
      return items.map(({ metadata }) => metadata.uid);
    }

    async function readySince(): Promise<string> {
      const ready = { status: "True" } as const;
      const condition = await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, ready);
      return condition.lastTransitionTime;
    }

    async function restarts(): Promise<number> {
      const { items } = await world.person.list(CoreEvent, { namespace: tenant.namespace });
      return items.filter(({ reason }) => reason === "Restarting").length;
    }

    /** Returns when none of the pods before is left and the object is healthy. */
    async function untilReplaced(app: string, before: readonly string[]): Promise<void> {
      await eventually(async () => {
        const now = await podsOf(app);
        expect(now.filter((uid) => before.includes(uid))).toEqual([]);
        expect(now).not.toEqual([]);
      }, TIME_LIMIT);
    }

    test("a missing certificate is named as what coderd waits for", async () => {
      const cause = await untilHealth(CoderControlPlane, "coder", "Degraded");
      expect(cause).toContain('Secret "web" does not exist');
      await renew();
    });

    test("the operator reaches coderd through its Service, and asks it by its public name", async () => {
      await tenant.untilControlPlane({ phase: "Ready" });
      // The first look at the database may come before coderd has made its tables.
      await world.timePasses(MINUTE);
      await tenant.untilControlPlane({
        url: `https://coder.${tenant.namespace}.svc.${DOMAIN}:443`,
        operatorAccessReady: true,
        version: inject("coderVersion"),
        licenseTier: "enterprise",
      });
      await untilHealth(CoderControlPlane, "coder", "Healthy");
    });

    test("daemons that do not trust its authority are not ready, and connect once they are given it", async () => {
      await tenant.provision("linux");
      await tenant.untilCondition(
        CoderProvisioner,
        { name: "linux", type: "DaemonsConnected" },
        { status: "False" },
      );
      await tenant.untilCondition(CoderProvisioner, { name: "linux", type: "Ready" }, { status: "False" });
      await tenant.putSecret("company-ca", { "ca.crt": ca.cert });
      await tenant.change(CoderProvisioner, "linux", {
        certs: { secrets: [{ name: "company-ca", key: "ca.crt" }] },
      });
      await tenant.untilCondition(
        CoderProvisioner,
        { name: "linux", type: "DaemonsConnected" },
        { status: "True" },
      );
      await untilHealth(CoderProvisioner, "linux", "Healthy");
    });

    test("a workspace proxy dials its public name, mapped to the Service, and serves", async () => {
      await tenant.proxy("sydney", { certs: { secrets: [{ name: "company-ca", key: "ca.crt" }] } });
      await untilHealth(CoderWorkspaceProxy, "sydney", "Healthy");
    });

    test("a renewed certificate is served by new pods, and daemons come back with the key that they have", async () => {
      const [serial, pods] = [await served(), await podsOf("coder-control-plane")];
      const { status: before } = await tenant.get(CoderProvisioner, "linux");
      const since = await readySince();
      await renew();
      await untilReplaced("coder-control-plane", pods);
      await untilHealth(CoderControlPlane, "coder", "Healthy");
      expect(await served()).not.toBe(serial);
      // Ready was False meanwhile.
      expect(await readySince()).not.toBe(since);
      await eventually(async () => expect(await restarts()).toBe(1), TIME_LIMIT);
      await tenant.untilCondition(
        CoderProvisioner,
        { name: "linux", type: "DaemonsConnected" },
        { status: "True" },
      );
      const { status: after } = await tenant.get(CoderProvisioner, "linux");
      expect(after?.provisionerKeyID).toBe(before?.provisionerKeyID);
    });

    test("a new password of the database reaches coderd by new pods where everything counts", async () => {
      const first = await podsOf("coder-control-plane");
      await tenant.change(CoderControlPlane, "coder", { restartOn: "All" });
      await tenant.untilCondition(CoderControlPlane, { type: "Ready" }, { status: "True" });
      expect(await podsOf("coder-control-plane")).toEqual(first);
      await tenant.putSecret("coder-db", { url: await tenant.database.changePassword() });
      await untilReplaced("coder-control-plane", first);
      await untilHealth(CoderControlPlane, "coder", "Healthy");
    });

    test("an image that does not exist is the reason why daemons are not ready, while the old ones serve", async () => {
      await tenant.change(CoderProvisioner, "linux", { image: `ghcr.io/coder/coder${MISSING_TAG}` });
      const cause = await untilHealth(CoderProvisioner, "linux", "Degraded");
      expect(cause).toContain(`image "ghcr.io/coder/coder${MISSING_TAG}" cannot be pulled`);
      await tenant.untilCondition(CoderProvisioner, { name: "linux", type: "Available" }, { status: "True" });
      await tenant.change(CoderProvisioner, "linux", { image: null });
      await untilHealth(CoderProvisioner, "linux", "Healthy");
    });

    test("no secret is logged", () => {
      expect(world.leaks()).toEqual([]);
    });
  },
);
