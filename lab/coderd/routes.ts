import type { Account } from "./accounts.ts";
import type { CoderdDeployment } from "./deployment.ts";
import { forbidden, json, message, notFound, type Reply, routeNotFound, signedOut } from "./reply.ts";
import type { Call, Route } from "./route.ts";
import { announcementRoutes } from "./routes-announcements.ts";
import { groupRoutes } from "./routes-groups.ts";
import { keyRoutes } from "./routes-keys.ts";
import { licenseRoutes } from "./routes-licenses.ts";
import { organizationRoutes, organizationView } from "./routes-organizations.ts";
import { proxyRoutes } from "./routes-proxies.ts";
import { queueRoutes } from "./routes-queue.ts";
import { signOnRoutes } from "./routes-sign-on.ts";
import { userRoutes, userView } from "./routes-users.ts";
import { workspaceRoutes } from "./routes-workspaces.ts";

const openRoutes: readonly Route[] = [
  { method: "GET", path: "/healthz", open: true, handle: () => ({ status: 200, text: "OK" }) },
  { method: "GET", path: "/api/v2/buildinfo", open: true, handle: buildInfo },
];

const accountRoutes: readonly Route[] = [
  { method: "GET", path: "/api/v2/users/me", handle: currentUser },
  { method: "GET", path: "/api/v2/users/me/keys/:key", handle: getToken },
  { method: "DELETE", path: "/api/v2/users/me/keys/:key", handle: deleteToken },
  {
    method: "GET",
    path: "/api/v2/organizations",
    handle: ({ deployment }) =>
      json(
        200,
        deployment.organizations.map((organization) => organizationView(organization, deployment)),
      ),
  },
  {
    method: "GET",
    path: "/api/v2/organizations/:organization",
    handle: ({ deployment, params }) => {
      const organization = deployment.findOrganization(params.organization ?? "");
      return organization ? json(200, organizationView(organization, deployment)) : notFound;
    },
  },
  { method: "GET", path: "/api/v2/replicas", licensed: {}, handle: replicas },
  { method: "GET", path: "/api/v2/debug/health", handle: health },
];

const routes: readonly Route[] = [
  ...openRoutes,
  ...accountRoutes,
  ...userRoutes,
  ...licenseRoutes,
  ...keyRoutes,
  ...queueRoutes,
  ...proxyRoutes,
  ...workspaceRoutes,
  ...announcementRoutes,
  ...organizationRoutes,
  ...groupRoutes,
  ...signOnRoutes,
];

/** Finds the route of a request and its parameters, like coderd's router. */
export function findRoute(
  method: string,
  path: string,
): { route: Route; params: Record<string, string> } | undefined {
  for (const route of routes) {
    const params = route.method === method ? matchPath(route.path, path) : undefined;
    if (params) return { route, params };
  }
  return undefined;
}

/** Whether this request may reach its route, and the response if not. */
export function gate(
  route: Route | undefined,
  deployment: CoderdDeployment,
  caller: { token: string | undefined; account: Account | undefined },
): Reply | undefined {
  if (!route || (route.licensed && deployment.openSource)) return routeNotFound;
  if (!route.open && !caller.account)
    return signedOut(
      caller.token === undefined
        ? 'Cookie "coder_session_token" or query parameter must be provided.'
        : "API key is invalid.",
    );
  const { feature, title } = route.licensed ?? {};
  if (feature && !deployment.allows(feature))
    return message(403, `${title} is a Premium feature. Contact sales!`);
  return undefined;
}

/** An encoded slash keeps the whole path encoded, so such a parameter matches no name. */
function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const expected = pattern.split("/");
  const actual = path.split("/");
  if (expected.length !== actual.length) return undefined;
  const decode = /%2f/i.test(path) ? (text: string) => text : decodeURIComponent;
  const params: Record<string, string> = {};
  for (const [index, segment] of expected.entries()) {
    const value = actual[index] ?? "";
    if (segment.startsWith(":") && value !== "") params[segment.slice(1)] = decode(value);
    else if (segment !== value) return undefined;
  }
  return params;
}

async function getToken({ deployment, params, account }: Call): Promise<Reply> {
  const token = await deployment.accounts.describe(params.key ?? "", account.id);
  if (!token) return notFound;
  const created = deployment.timestamp;
  return json(200, {
    id: token.id,
    user_id: account.id,
    last_used: created,
    expires_at: new Date(token.expiresAt).toISOString(),
    created_at: created,
    updated_at: created,
    login_type: "password",
    scope: "all",
    ...deployment.traits.more.token,
    token_name: "",
    lifetime_seconds: 86_400,
  });
}

async function deleteToken({ deployment, params, account }: Call): Promise<Reply> {
  const isGone = await deployment.accounts.revoke(params.key ?? "", account.id);
  return isGone ? { status: 204, text: "" } : notFound;
}

function buildInfo({ deployment }: Call): Reply {
  const { provisionerApi, more } = deployment.traits;
  return json(200, {
    external_url: "https://github.com/coder/coder",
    version: deployment.version,
    dashboard_url: "http://coder.example",
    telemetry: false,
    workspace_proxy: false,
    agent_api_version: "1.0",
    provisioner_api_version: provisionerApi,
    upgrade_message: "",
    deployment_id: deployment.id,
    ...more.buildInfo,
  });
}

function currentUser({ deployment, account }: Call): Reply {
  return json(200, userView(account, deployment));
}

function health({ deployment, account }: Call): Reply {
  if (!account.owner) return forbidden;
  deployment.health.push(...deployment.health.splice(0, 1));
  const { daemons, builtInDaemons } = deployment;
  return json(200, deployment.health.at(-1)?.report(deployment.now(), daemons.length + builtInDaemons));
}

function replicas({ deployment }: Call): Reply {
  const replica = {
    id: deployment.id,
    hostname: "vm",
    created_at: deployment.timestamp,
    relay_address: "",
    region_id: 999,
    error: "",
    database_latency: 478,
  };
  return json(200, [replica]);
}
