import { PLAIN_APPEARANCE, type SimulatedAppearance } from "./appearance.ts";
import type { CoderdDeployment } from "./deployment.ts";
import { forbidden, json, message, type Reply } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const APPEARANCE = "/api/v2/appearance";
const PREBUILDS = "/api/v2/prebuilds/settings";
const FEATURE = { feature: "workspace_prebuilds", title: "Workspace Prebuilds" };

export const announcementRoutes: readonly Route[] = [
  { method: "GET", path: APPEARANCE, open: true, handle: getAppearance },
  { method: "PUT", path: APPEARANCE, licensed: {}, handle: setAppearance },
  {
    method: "GET",
    path: PREBUILDS,
    licensed: FEATURE,
    handle: ({ deployment }) => json(200, { reconciliation_paused: deployment.arePrebuildsPaused ?? false }),
  },
  { method: "PUT", path: PREBUILDS, licensed: FEATURE, handle: setPrebuildsSettings },
];

const NO_BANNER = { enabled: false };
const HEX_COLOR = /^#[0-9a-f]{6}$/i;

/** Agents of workspaces may read it too, so the error message differs. */
function getAppearance({ deployment, account }: Call): Reply {
  if (!account) return message(401, "API key or workspace agent token required, but none provided");
  return json(200, appearanceView(deployment));
}

/** Without the feature, coderd does not return the stored values. */
function appearanceView(deployment: CoderdDeployment) {
  const isShown = !deployment.openSource && deployment.allows("appearance");
  const { announcement_banners: banners, ...names } = isShown ? deployment.appearance : PLAIN_APPEARANCE;
  const docs = `https://coder.com/docs/@${deployment.version}`;
  return {
    ...names,
    docs_url: docs,
    service_banner: banners[0] ?? NO_BANNER,
    announcement_banners: banners,
    support_links: [
      { name: "Documentation", target: docs, icon: "docs" },
      { name: "Report a bug", target: "https://github.com/coder/coder/issues/new", icon: "bug" },
      { name: "Join the Coder Discord", target: "https://discord.gg/coder", icon: "chat" },
      { name: "Star the Repo", target: "https://github.com/coder/coder", icon: "star" },
    ],
  };
}

/** An owner may set it without the feature too, which replaces values that are not shown. */
function setAppearance({ deployment, account, body }: Call): Reply {
  if (!account.owner) return message(403, "Insufficient permissions to update appearance");
  const next = body as Partial<SimulatedAppearance>;
  const banners = next.announcement_banners ?? [];
  const wrong = banners.find(({ background_color: color = "" }) => !HEX_COLOR.test(color));
  if (wrong) {
    const { background_color: color = "" } = wrong;
    const detail = color.length === 7 ? "no # prefix" : "expected # prefix and 6 characters";
    return message(400, `Invalid color format: "${color}"`, detail);
  }
  const { application_name = "", logo_url = "" } = next;
  deployment.appearance = { application_name, logo_url, announcement_banners: banners };
  return json(200, { ...deployment.appearance, service_banner: NO_BANNER });
}

function setPrebuildsSettings({ deployment, account, body }: Call): Reply {
  const isPaused = body.reconciliation_paused === true;
  if (deployment.arePrebuildsPaused === isPaused) return { status: 304 };
  if (!account.owner) return forbidden;
  deployment.arePrebuildsPaused = isPaused;
  return json(200, { reconciliation_paused: isPaused });
}
