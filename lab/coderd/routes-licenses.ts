import type { StoredLicense } from "./licenses.ts";
import { forbidden, json, message, notFound, type Reply, required } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const FORCED_REFRESH_MS = 60_000;

export const licenseRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v2/entitlements",
    open: true,
    licensed: {},
    handle: ({ deployment }) => json(200, deployment.entitlements()),
  },
  { method: "GET", path: "/api/v2/licenses", licensed: {}, handle: listLicenses },
  { method: "POST", path: "/api/v2/licenses", licensed: {}, handle: addLicense },
  { method: "DELETE", path: "/api/v2/licenses/:id", licensed: {}, handle: deleteLicense },
  { method: "POST", path: "/api/v2/licenses/refresh-entitlements", licensed: {}, handle: refresh },
];

/** Without permission, the list looks as if there were no licenses. */
function listLicenses({ deployment, account }: Call): Reply {
  if (!account.owner || deployment.licenses.length === 0) return json(200, deployment.traits.noLicenses);
  return json(200, deployment.licenses.map(publicLicense));
}

function addLicense({ deployment, account, body }: Call): Reply {
  if (!account.owner) return forbidden;
  if (typeof body.license !== "string" || body.license === "") return required("license");
  const added = deployment.addLicense(body.license);
  if (added === "invalid")
    return message(400, "Invalid license", "license has multiple issues; contact support");
  if (added === "duplicate")
    return message(
      500,
      "Unable to add license to database",
      'pq: duplicate key value violates unique constraint "licenses_jwt_key"',
    );
  return json(201, publicLicense(added));
}

function deleteLicense({ deployment, account, params }: Call): Reply {
  if (!account.owner) return notFound;
  const rest = deployment.licenses.filter(({ id }) => String(id) !== params.id);
  if (rest.length === deployment.licenses.length) return message(404, "Unknown license ID");
  deployment.licenses = rest;
  return { status: 200 };
}

function refresh({ deployment, account }: Call): Reply {
  if (!account.owner) return forbidden;
  const wait = Math.ceil((deployment.lastRefresh + FORCED_REFRESH_MS - deployment.now()) / 1_000);
  if (wait > 0)
    return json(
      400,
      {
        message: `Entitlements already recently refreshed, please wait ${wait} seconds to force a new refresh`,
      },
      { "Retry-After": String(wait) },
    );
  deployment.lastRefresh = deployment.now();
  return json(200, { message: "Entitlements updated" });
}

function publicLicense({ jwt: _, ...license }: StoredLicense) {
  return license;
}
