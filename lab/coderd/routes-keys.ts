import type { CoderdDeployment, ProvisionerKey } from "./deployment.ts";
import { invalidField, json, message, notFound, type Reply, rbacForbidden } from "./reply.ts";
import type { Call, Route } from "./route.ts";
import { daemonsOf, daemonView } from "./routes-queue.ts";

const MAX_NAME_LENGTH = 64;
const SECRET_LENGTH = 43;
const NIL_UUID = "00000000-0000-0000-0000-00000000000";
/** Keys that represent daemons without one, in the order of coderd's list. */
const RESERVED = [
  { name: "built-in", id: `${NIL_UUID}1` },
  { name: "psk", id: `${NIL_UUID}3` },
  { name: "user-auth", id: `${NIL_UUID}2` },
];

const PROVISIONER_FEATURE = {
  feature: "external_provisioner_daemons",
  title: "External Provisioner Daemons",
};

const KEYS = "/api/v2/organizations/:organization/provisionerkeys";

export const keyRoutes: readonly Route[] = [
  { method: "GET", path: KEYS, licensed: PROVISIONER_FEATURE, handle: listKeys },
  { method: "POST", path: KEYS, licensed: PROVISIONER_FEATURE, handle: createKey },
  { method: "GET", path: `${KEYS}/daemons`, licensed: PROVISIONER_FEATURE, handle: listKeyDaemons },
  { method: "DELETE", path: `${KEYS}/:name`, licensed: PROVISIONER_FEATURE, handle: deleteKey },
  { method: "GET", path: "/api/v2/provisionerkeys/:key", open: true, licensed: {}, handle: describeKey },
];

function ofOrganization({ deployment, params }: Call, reply: (organizationId: string) => Reply): Reply {
  const organization = deployment.findOrganization(params.organization ?? "");
  return organization ? reply(organization.id) : notFound;
}

function listKeys(call: Call): Reply {
  return ofOrganization(call, (id) => json(200, keysOf(call.deployment, id).map(keyView)));
}

function createKey(call: Call): Reply {
  const { deployment, account, body } = call;
  const name = typeof body.name === "string" ? body.name.toLowerCase() : "";
  return ofOrganization(call, (organizationId) => {
    if (name === "") return invalidField("name", "Name is required");
    if (name.length > MAX_NAME_LENGTH)
      return invalidField("name", `Name must be at most ${MAX_NAME_LENGTH} characters`);
    if (RESERVED.some((reserved) => reserved.name === name))
      return invalidField("name", `Name cannot be reserved name '${name}'`);
    if (!account.owner) return rbacForbidden;
    if (keysOf(deployment, organizationId).some((key) => key.name === name))
      return message(409, `Provisioner key with name '${name}' already exists in organization`);
    const tags = (body.tags ?? {}) as Record<string, string>;
    return json(201, { key: deployment.createKey(organizationId, name, tags).plaintext });
  });
}

function deleteKey(call: Call): Reply {
  return ofOrganization(call, (organizationId) => {
    const name = call.params.name?.toLowerCase();
    const key = keysOf(call.deployment, organizationId).find((candidate) => candidate.name === name);
    if (!key || !call.account.owner) return notFound;
    call.deployment.deleteKey(key);
    return { status: 204, text: "", headers: { "Content-Type": "application/json; charset=utf-8" } };
  });
}

function listKeyDaemons(call: Call): Reply {
  return ofOrganization(call, (organizationId) => {
    const organization = call.deployment.organizations.find(({ id }) => id === organizationId);
    const reserved = RESERVED.map(({ id, name }) => ({
      id,
      created_at: organization?.created_at,
      organization: organizationId,
      name,
      tags: {},
    }));
    const keys = [...reserved, ...keysOf(call.deployment, organizationId).map(keyView)];
    const daemons = daemonsOf(call.deployment, organizationId);
    const ofKey = (keyId: string) =>
      daemons.filter(({ key }) => key.id === keyId).map((daemon) => daemonView(daemon, call.deployment));
    return json(
      200,
      keys.map((key) => ({ key, daemons: ofKey(key.id) })),
    );
  });
}

function describeKey({ deployment, headers }: Call): Reply {
  const plaintext = headers["coder-provisioner-daemon-key"];
  if (typeof plaintext !== "string") return message(401, "provisioner daemon key required");
  if (plaintext.length !== SECRET_LENGTH)
    return json(400, {
      message: "provisioner daemon key invalid",
      detail: `must be ${SECRET_LENGTH} characters`,
    });
  const key = deployment.acceptedKey(plaintext);
  return key ? json(200, keyView(key)) : message(401, "provisioner daemon key invalid");
}

function keysOf(deployment: CoderdDeployment, organizationId: string): ProvisionerKey[] {
  return deployment.keys.filter((key) => key.organization === organizationId);
}

function keyView({ plaintext: _, ...key }: ProvisionerKey) {
  return key;
}
