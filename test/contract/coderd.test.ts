import { randomUUID } from "node:crypto";
import { describe } from "vitest";
import { StaticAccounts } from "../../lab/coderd/accounts.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { startCoderdServer } from "../../lab/coderd/server.ts";
import { coderdContract } from "./coderd-contract.ts";
import { RECORDED_VERSIONS } from "./coderd-recordings.ts";

const HOUR_MS = 60 * 60 * 1_000;

describe.each(RECORDED_VERSIONS)("the simulator of Coder %s", (version) => {
  coderdContract("the coderd simulator", async () => {
    const accounts = new StaticAccounts();
    const people = [
      {
        ...{ id: randomUUID(), username: "testuser" },
        name: "Test User",
        email: "testuser@coder.com",
        owner: true,
      },
      { ...{ id: randomUUID(), username: "member" }, name: "Member", email: "m@example.com", owner: false },
    ] as const;
    accounts.add("ownerowner-ownerownerownerowner12", people[0]);
    accounts.add("membermemb-membermembermembermem1", people[1]);
    const [server, empty] = await Promise.all([startCoderdServer(), startCoderdServer()]);
    empty.add({ isEmpty: true, version: `v${version}` });
    const { inside, organizations } = server.add({ accounts, builtInDaemons: 0, version: `v${version}` });
    inside.enroll(organizations[0]?.id ?? "", ...people);
    return {
      version,
      url: server.url,
      emptyURL: empty.url,
      ownerToken: "ownerowner-ownerownerownerowner12",
      memberToken: "membermemb-membermembermembermem1",
      licenses: {
        premium: fakeLicense({ expiresInMs: HOUR_MS }),
        premium2: fakeLicense({ expiresInMs: HOUR_MS }),
        enterprise: fakeLicense({ featureSet: "enterprise", expiresInMs: HOUR_MS }),
      },
      close: async () => void (await Promise.all([server.close(), empty.close()])),
    };
  });
});
