import { describe } from "vitest";
import { mint } from "../../lab/mint.ts";
import { startPostgres } from "../../lab/postgres.ts";
import { coderdContract } from "../contract/coderd-contract.ts";
import { everyCoder } from "./support/binaries.ts";
import { CoderdAdmin } from "./support/coderd-admin.ts";
import { startLoneCoderd } from "./support/lone-coderd.ts";

const binaries = await everyCoder();

const OWNER = { email: "testuser@coder.com", username: "testuser", name: "Test User" };
const MEMBER = { email: "m@example.com", username: "member", name: "Member" };

describe.skipIf(!binaries).each([
  ["2.36.1", "coder"],
  ["2.26.0", "coder-old"],
] as const)("the contract of the simulator of Coder %s", (version, name) => {
  coderdContract("the real coderd", async () => {
    if (!binaries) throw new Error("skipped");
    await using owned = new AsyncDisposableStack();
    const postgres = owned.adopt(await startPostgres(), (running) => running.stop());
    const binary = binaries[name];
    const { url } = owned.use(await startLoneCoderd(binary, await postgres.createDatabase("empty")));
    const empty = owned.use(await startLoneCoderd(binary, await postgres.createDatabase("empty")));
    const owner = owned.use(await CoderdAdmin.signUp(url, binary, OWNER));
    const [premium, premium2, enterprise] = await mint(binaries, "premium", "premium", "enterprise");
    const memberToken = await owner.invite(MEMBER);
    const kept = owned.move();
    return {
      version,
      url,
      emptyURL: empty.url,
      ownerToken: owner.token,
      memberToken,
      licenses: { premium, premium2, enterprise },
      isRecorded: process.env.RECORD === "1",
      close: () => kept.disposeAsync(),
    };
  });
});
