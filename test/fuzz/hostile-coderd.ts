import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Dice } from "kube-controller-runtime/testing";
import { drawHostileText } from "./draw.ts";

export interface HostileServer extends AsyncDisposable {
  readonly port: number;
  readonly requests: () => number;
}

const role = { name: "owner", display_name: "Owner" };
const organization = {
  ...{ id: "0f0f", name: "default", is_default: true },
  ...{ display_name: "", description: "", icon: "" },
};
const group = {
  ...{ id: "0a0a", name: "coder", display_name: "", avatar_url: "", quota_allowance: 0 },
  members: [{ id: "0b0b" }],
};
const sync = { field: "groups", mapping: { x: ["0a0a"] } };

/** What coderd would say, by the end of the path. */
const plausible: readonly [RegExp, unknown][] = [
  [/buildinfo$/, { version: "v2.36.1", deployment_id: "d" }],
  [/users\/me$/, { id: "u", username: "owner", roles: [role], organization_ids: ["0f0f"] }],
  [/idpsync\/organization$/, { ...sync, organization_assign_default: true }],
  [/idpsync\/groups$/, { ...sync, regex_filter: null, auto_create_missing_groups: false }],
  [/idpsync\/roles$/, sync],
  [/organizations\/[^/]+\/groups$/, [group]],
  [/groups\/[^/]+$/, group],
  [/members$/, [{ user_id: "0b0b", username: "coder" }]],
  [/members\/roles$/, [{ ...role, organization_permissions: [], built_in: false }]],
  [/organizations$/, [organization]],
  [/organizations\/[^/]+$/, organization],
  [/provisionerkeys$/, []],
  [/licenses$/, []],
  [/entitlements$/, { has_license: true, trial: false, features: features() }],
  [/workspaceproxies$/, { regions: [] }],
];

function features(): object {
  const names = [
    ...["external_provisioner_daemons", "multiple_organizations", "template_rbac"],
    ...["custom_roles", "user_role_management"],
  ];
  return Object.fromEntries(names.map((name) => [name, { entitlement: "entitled", enabled: true }]));
}

/** A coderd that a tenant runs: it answers like one, or with whatever may do harm. */
export async function startHostileCoderd(dice: Dice): Promise<HostileServer> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    request.resume();
    response.on("error", () => {});
    answer(request.url ?? "/", { dice, response });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Exchange {
  readonly dice: Dice;
  readonly response: ServerResponse;
}

function answer(path: string, { dice, response }: Exchange): void {
  const usual = plausible.find(([at]) => at.test(path))?.[1] ?? { message: "Route not found." };
  const json = (status: number, body: string) =>
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  switch (
    dice.weighted({ usual: 6, spoiled: 3, refusal: 3, values: 1, deep: 1, html: 1, cut: 1, endless: 1 })
  ) {
    case "usual":
      return void json(200, JSON.stringify(usual));
    case "spoiled":
      return void json(
        200,
        JSON.stringify(usual, (_, value) => (typeof value === "string" ? spoil(value, dice) : value)),
      );
    case "refusal": {
      const message = drawHostileText(dice, dice.pick([100, 10_000, 1_900_000]));
      return void json(
        dice.pick([400, 401, 403, 404, 409, 429, 500, 503]),
        JSON.stringify({ message, detail: message }),
      );
    }
    case "values":
      return void json(200, `[${"0,".repeat(dice.pick([1_000, 19_000, 900_000]))}0]`);
    case "deep":
      return void json(200, "[".repeat(dice.pick([1_000, 19_000])));
    case "html":
      return void response
        .writeHead(200, { "content-type": "text/html" })
        .end(drawHostileText(dice, 1_000_000));
    case "cut":
      return void response.destroy();
    case "endless":
      response.writeHead(200, { "content-type": "application/json" });
      flood(response, Buffer.from(drawHostileText(dice, 60_000)));
      return;
  }
}

function spoil(text: string, dice: Dice): string {
  return dice.next() < 0.4 ? drawHostileText(dice, dice.pick([200, 5_000, 500_000])) : text;
}

function flood(response: ServerResponse, chunk: Buffer): void {
  if (!response.destroyed) response.write(chunk, (error) => error ?? flood(response, chunk));
}
