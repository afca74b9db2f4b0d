import { globSync, readFileSync } from "node:fs";
import { CoreEvent, Ingress } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { mint } from "../../lab/mint.ts";
import type { RunningOperator } from "../../lab/operator.ts";
import type { ControlPlaneSpec } from "../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../src/api/v1alpha1/kinds.ts";
import { everyCoder } from "./support/binaries.ts";
import { Browser, logIn } from "./support/browser.ts";
import { CoderdAdmin } from "./support/coderd-admin.ts";
import { IdentityProvider } from "./support/identity-provider.ts";
import { serverSettings } from "./support/server-settings.ts";
import { Tenant } from "./support/tenant.ts";
import { TIME_LIMIT, World } from "./support/world.ts";

const binaries = await everyCoder();
const MINUTE = 60_000;
const READY = { status: "True", reason: "UpToDate" } as const;
const ACCESS_URL = "https://coder.example.com";
const CALLBACK = `${ACCESS_URL}/api/v2/users/oidc/callback`;
const RESEARCH = "/api/v2/organizations/research";

/** What an ingress controller brings. */
const INGRESS_CLASS = {
  apiVersion: "networking.k8s.io/v1",
  kind: "IngressClass",
  metadata: { name: "nginx" },
  spec: { controller: "example.com/ingress" },
};

interface Manifest {
  readonly kind: string;
  readonly spec: ControlPlaneSpec;
}

/** All files of examples/company as one, except for the parts that only this machine has. */
function company(issuer: string, version: string): string {
  const files = globSync("examples/company/*.yaml").sort();
  const manifests = files.flatMap((file) =>
    parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as Manifest),
  );
  return manifests
    .map((manifest) =>
      stringify(manifest.kind === "CoderControlPlane" ? here(manifest, issuer, version) : manifest),
    )
    .join("---\n");
}

function here(manifest: Manifest, issuer: string, version: string): Manifest {
  const { extraEnv = [], ...spec } = manifest.spec;
  const given = extraEnv.map((variable) =>
    variable.name === "CODER_OIDC_ISSUER_URL" ? { name: variable.name, value: issuer } : variable,
  );
  const settings = Object.entries(serverSettings).map(([name, value]) => ({ name, value }));
  const image = `ghcr.io/coder/coder:v${version}`;
  return { ...manifest, spec: { ...spec, image, extraEnv: [...given, ...settings] } };
}

describe.skipIf(!binaries).each([
  ["2.36.1", "coder"],
  ["2.26.0", "coder-old"],
] as const)("examples/company on an empty database of the real Coder %s", (version, program) => {
  let world: World;
  let operator: RunningOperator;
  let tenant: Tenant;
  let provider: IdentityProvider;
  let admin: CoderdAdmin;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    const client = { "client-id": "coder", "client-secret": "a-secret-of-the-client" };
    const registration = { clientID: client["client-id"], clientSecret: client["client-secret"] };
    provider = owned.use(await IdentityProvider.open({ ...registration, redirectURL: CALLBACK }));
    world = owned.use(await World.open({ ...binaries, coder: binaries[program] }));
    operator = await world.startOperator();
    await world.cluster.apply(INGRESS_CLASS);
    const [license] = await mint(binaries, "premium");
    tenant = await Tenant.settle(world, "company");
    await tenant.putSecret("coder-license", { license });
    await tenant.putSecret("coder-oidc", client);
    const apply = ["apply", "--namespace", tenant.namespace, "--filename=-"];
    const applied = await world.cluster.kubectl(apply, company(provider.url, version));
    expect(applied).toMatchObject({ code: 0, stderr: "" });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  const untilReady = async () => {
    await tenant.untilCondition(CoderOrganization, { name: "research", type: "Ready" }, READY);
    await tenant.untilCondition(CoderGroup, { name: "engineers", type: "Ready" }, READY);
    await tenant.untilCondition(CoderGroup, { name: "scientists", type: "Ready" }, READY);
    await tenant.untilCondition(CoderControlPlane, { type: "OrganizationSyncReady" }, READY);
  };
  const messages = async (name: string, reason: string) => {
    const fieldSelector = `involvedObject.name=${name},reason=${reason}`;
    const { items } = await world.person.list(CoreEvent, { namespace: tenant.namespace, fieldSelector });
    return items.map(({ message }) => message);
  };

  /** Logs in with a browser, and asks as this person. */
  async function logsIn(username: string): Promise<(path: string) => Promise<unknown>> {
    const browser = new Browser((origin) => (origin === ACCESS_URL ? admin.url : origin));
    const page = await logIn(browser, CALLBACK, username);
    const token = browser.cookie(ACCESS_URL, "coder_session_token");
    expect(token, page.text).toBeDefined();
    world.secrets.add(`${token}`);
    return async (path) => {
      const response = await fetch(admin.url + path, { headers: { "Coder-Session-Token": `${token}` } });
      expect(response.status, path).toBe(200);
      return response.json();
    };
  }

  async function namesIn(group: string): Promise<string[]> {
    const groups = await admin.get<{ name: string; members: { username: string }[] }[]>(`${RESEARCH}/groups`);
    return groups
      .filter(({ name }) => name === group)
      .flatMap(({ members }) => members.map(({ username }) => username));
  }

  async function rolesOf(username: string): Promise<string[]> {
    type Member = { readonly username: string; readonly roles: readonly { readonly name: string }[] };
    const members = await admin.get<Member[]>(`${RESEARCH}/members`);
    const member = members.find((each) => each.username === username);
    return (member?.roles ?? []).map(({ name }) => name).sort();
  }

  test("allows the admin to log in with the generated password, and then exposes coderd", async () => {
    await tenant.untilCondition(CoderControlPlane, { type: "FirstAdminReady" }, { reason: "Created" });
    const password = await tenant.secretValue("coder-first-admin", "password");
    const credentials = { email: "admin@example.com", password };
    admin = owned.use(await CoderdAdmin.signIn(await tenant.coderdURL(), binaries?.coder ?? "", credentials));
    const me = await admin.get<{ username: string; roles: { name: string }[] }>("/api/v2/users/me");
    expect(me).toMatchObject({ username: "admin", roles: [{ name: "owner" }] });
    await tenant.untilCondition(CoderControlPlane, { type: "ExposureReady" }, { status: "True" });
    expect((await tenant.get(Ingress, "coder")).spec?.rules?.[0]?.host).toBe("coder.example.com");
  });

  test("puts a person who logs in by OpenID Connect into the organization, the group and the roles", async () => {
    await untilReady();
    provider.knows("ada", {
      email: "ada@example.com",
      name: "Ada Lovelace",
      groups: ["coder-engineers", "coder-leads", "coder-authors", "choir"],
    });
    const ada = await logsIn("ada");
    expect(await ada("/api/v2/users/me")).toMatchObject({ username: "ada", login_type: "oidc", roles: [] });
    expect(await ada("/api/v2/users/me/organizations")).toMatchObject([{ name: "research" }]);
    expect(await ada(`${RESEARCH}/members/me/workspace-quota`)).toMatchObject({ budget: 40 });
    expect(await rolesOf("ada")).toEqual(["organization-admin", "template-author"]);
    expect(await namesIn("engineers")).toEqual(["ada"]);
    expect(await namesIn("scientists")).toEqual([]);
  });

  test("follows the claims at the next login", async () => {
    provider.knows("ada", { email: "ada@example.com", name: "Ada", groups: ["coder-scientists"] });
    const ada = await logsIn("ada");
    expect(await ada(`${RESEARCH}/members/me/workspace-quota`)).toMatchObject({ budget: 80 });
    expect(await rolesOf("ada")).toEqual([]);
    expect(await namesIn("engineers")).toEqual([]);
    expect(await namesIn("scientists")).toEqual(["ada"]);
  });

  test("leaves a person without these claims outside every organization", async () => {
    provider.knows("oscar", { email: "oscar@example.com", name: "Oscar", groups: ["choir"] });
    const oscar = await logsIn("oscar");
    expect(await oscar("/api/v2/users/me/organizations")).toEqual([]);
  });

  test("is restored after manual changes in coderd, and events name the fields", async () => {
    const [engineers] = (await admin.get<{ id: string; name: string }[]>(`${RESEARCH}/groups`)).filter(
      ({ name }) => name === "engineers",
    );
    await admin.patch(`/api/v2/groups/${engineers?.id}`, { quota_allowance: 400, display_name: "Everyone" });
    await admin.patch(RESEARCH, { description: "" });
    await admin.patch(`${RESEARCH}/settings/idpsync/roles`, { field: "", mapping: {} });
    await admin.patch("/api/v2/settings/idpsync/organization", {
      field: "groups",
      mapping: {},
      organization_assign_default: true,
    });
    await world.timePasses(11 * MINUTE);
    await eventually(async () => {
      expect(await messages("engineers", "DriftCorrected")).toEqual([
        'Corrected displayName, quotaAllowance of group "engineers", which had been changed in coderd.',
      ]);
      expect((await messages("research", "DriftCorrected")).sort()).toEqual([
        'Corrected description of organization "research", which had been changed in coderd.',
        'Corrected idpSync.roles of organization "research", which had been changed in coderd.',
      ]);
    }, TIME_LIMIT);
    await untilReady();
    const { id } = await admin.get<{ id: string }>(RESEARCH);
    expect(await admin.get("/api/v2/settings/idpsync/organization")).toMatchObject({
      organization_assign_default: false,
      mapping: { "coder-engineers": [id], "coder-scientists": [id] },
    });
    expect(await admin.get(`${RESEARCH}/settings/idpsync/roles`)).toMatchObject({ field: "groups" });
    expect(await admin.get(RESEARCH)).toMatchObject({ description: "Engineers and scientists." });
    expect(await admin.get(`${RESEARCH}/groups`)).toContainEqual(
      expect.objectContaining({ name: "engineers", display_name: "Engineers", quota_allowance: 40 }),
    );
  });

  test("costs a restarted operator no write, and one request for each collection", async () => {
    const { id } = await admin.get<{ id: string }>(RESEARCH);
    await operator.stop();
    const before = world.gateway.exchanges.length;
    operator = await world.startOperator();
    const collections = [
      "/api/v2/organizations",
      `/api/v2/organizations/${id}/groups`,
      `/api/v2/organizations/${id}/members/roles`,
      `/api/v2/organizations/${id}/settings/idpsync/groups`,
      `/api/v2/organizations/${id}/settings/idpsync/roles`,
      "/api/v2/settings/idpsync/organization",
    ];
    const asked = () => world.gateway.exchanges.slice(before).map(({ method, path }) => `${method} ${path}`);
    await eventually(() => {
      expect(asked()).toEqual(expect.arrayContaining(collections.map((path) => `GET ${path}`)));
    }, TIME_LIMIT);
    await world.untilIdle();
    expect(
      asked()
        .filter((each) => /organizations|groups|idpsync/.test(each))
        .sort(),
    ).toEqual(collections.map((path) => `GET ${path}`).sort());
    expect(asked().filter((each) => !each.startsWith("GET "))).toEqual([]);
    const writes = operator.transport.requests.filter(({ method }) => method !== "GET");
    expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    expect(world.leaks()).toEqual([]);
  });
});
