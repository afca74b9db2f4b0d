import { randomBytes, randomUUID } from "node:crypto";
import type { CoderdDeployment, SimulatedProxy } from "./deployment.ts";
import { json, message, notFound, type Reply, rbacForbidden, required } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const FEATURE = { feature: "workspace_proxy", title: "Workspace Proxy" };
const PROXIES = "/api/v2/workspaceproxies";

export const proxyRoutes: readonly Route[] = [
  { method: "GET", path: `${PROXIES}/me/crypto-keys`, open: true, licensed: FEATURE, handle: cryptoKeys },
  { method: "GET", path: PROXIES, licensed: FEATURE, handle: listProxies },
  { method: "POST", path: PROXIES, licensed: FEATURE, handle: createProxy },
  {
    method: "GET",
    path: `${PROXIES}/:proxy`,
    licensed: FEATURE,
    handle: (call) => ofProxy(call, (proxy) => json(200, proxyView(call.deployment, proxy))),
  },
  { method: "PATCH", path: `${PROXIES}/:proxy`, licensed: FEATURE, handle: patchProxy },
  { method: "DELETE", path: `${PROXIES}/:proxy`, licensed: FEATURE, handle: deleteProxy },
];

function ofProxy({ deployment, params }: Call, reply: (proxy: SimulatedProxy) => Reply): Reply {
  const wanted = params.proxy ?? "";
  const proxy = deployment.proxies.find(({ id, name }) => id === wanted || name === wanted);
  return proxy ? reply(proxy) : notFound;
}

function listProxies({ deployment }: Call): Reply {
  const primary = {
    id: deployment.id,
    name: "primary",
    display_name: "Default",
    icon_url: "/emojis/1f3e1.png",
    healthy: true,
    path_app_url: "http://coder.example",
    wildcard_hostname: "",
    derp_enabled: false,
    derp_only: false,
    status: statusView(deployment, "ok", []),
    created_at: deployment.timestamp,
    updated_at: deployment.timestamp,
    deleted: false,
    version: "",
  };
  return json(200, {
    regions: [primary, ...deployment.proxies.map((proxy) => proxyView(deployment, proxy))],
  });
}

/** Requested by proxies with their own token; here without naming the keys. */
function cryptoKeys({ deployment, headers }: Call): Reply {
  const token = headers["coder-external-proxy-token"];
  if (typeof token !== "string" || token === "") return message(401, "Missing required external proxy token");
  if (!deployment.acceptedProxy(token))
    return message(401, "Invalid external proxy token", "Invalid proxy token secret.");
  return message(400, "Missing feature query parameter.");
}

function createProxy({ deployment, account, body }: Call): Reply {
  const { name, display_name: displayName, icon } = body;
  if (typeof name !== "string" || name === "") return required("name");
  if (!account.owner) return rbacForbidden;
  if (deployment.proxies.some((proxy) => proxy.name.toLowerCase() === name.toLowerCase()))
    return message(409, `Workspace proxy with name "${name}" already exists.`);
  const id = randomUUID();
  const proxy: SimulatedProxy = {
    id,
    name,
    displayName: typeof displayName === "string" ? displayName : "",
    icon: typeof icon === "string" ? icon : "",
    token: newToken(deployment, id),
    status: "unregistered",
    errors: [],
    createdAt: deployment.timestamp,
    updatedAt: deployment.timestamp,
  };
  deployment.proxies.push(proxy);
  return json(201, { proxy: proxyView(deployment, proxy), proxy_token: proxy.token });
}

function patchProxy(call: Call): Reply {
  const { deployment, account, body } = call;
  return ofProxy(call, (proxy) => {
    const missing = ["id", "name", "display_name", "icon"].filter((field) => !body[field]);
    if (missing.length > 0) return required(...missing);
    if (!account.owner) return rbacForbidden;
    proxy.name = String(body.name);
    proxy.displayName = String(body.display_name);
    proxy.icon = String(body.icon);
    proxy.updatedAt = deployment.timestamp;
    if (body.regenerate_token !== true)
      return json(200, { proxy: proxyView(deployment, proxy), proxy_token: "" });
    proxy.token = newToken(deployment, proxy.id);
    return json(200, { proxy: proxyView(deployment, proxy), proxy_token: proxy.token });
  });
}

function deleteProxy(call: Call): Reply {
  const { deployment, account } = call;
  return ofProxy(call, (proxy) => {
    if (!account.owner) return rbacForbidden;
    deployment.proxies = deployment.proxies.filter(({ id }) => id !== proxy.id);
    return message(200, "Proxy has been deleted!");
  });
}

function proxyView(deployment: CoderdDeployment, proxy: SimulatedProxy) {
  return {
    id: proxy.id,
    name: proxy.name,
    display_name: proxy.displayName,
    icon_url: proxy.icon,
    healthy: proxy.status === "ok",
    path_app_url: "",
    wildcard_hostname: "",
    derp_enabled: true,
    derp_only: false,
    status: statusView(deployment, proxy.status, proxy.errors),
    created_at: proxy.createdAt,
    updated_at: proxy.updatedAt,
    deleted: false,
    version: "",
  };
}

function statusView(
  deployment: CoderdDeployment,
  status: SimulatedProxy["status"],
  errors: readonly string[],
) {
  return { status, report: { errors, warnings: [] }, checked_at: deployment.timestamp };
}

function newToken({ everyProxyToken }: CoderdDeployment, id: string): string {
  const token = `${id}:${randomBytes(32).toString("hex")}`;
  everyProxyToken.push(token);
  return token;
}
