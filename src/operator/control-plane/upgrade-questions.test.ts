import { expect, test } from "vitest";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { failed, succeeded } from "../../coder/result.ts";
import { countBuilds } from "./upgrade-questions.ts";

const timeout = failed<CoderFailure>({ kind: "transient", message: "no answer" });
const busy = failed<CoderFailure>({ kind: "rateLimited", message: "too many requests" });
const refused = failed<CoderFailure>({ kind: "forbidden", why: "notPermitted", message: "403" });
const absent = failed<CoderFailure>({ kind: "unsupported", message: "404" });
const organizations = succeeded([{ id: "a" }, { id: "b" }]);
const jobs = (...statuses: string[]) => succeeded(statuses.map((status) => ({ status })));

/** A coderd with these responses. Jobs are listed by organization. */
function coderd(listed: object, ...answers: object[]): CoderClient {
  const client = {
    organizations: async () => listed,
    unfinishedJobs: async (id: string) => answers[id === "a" ? 0 : 1],
  };
  return client as unknown as CoderClient;
}

test.each<[string, CoderClient, number | "unknown" | "unanswered"]>([
  ["builds of all organizations that run", coderd(organizations, jobs("running"), jobs("canceling")), 2],
  ["no build that waits in the queue", coderd(organizations, jobs("pending"), jobs()), 0],
  ["nothing while the organizations get no answer", coderd(timeout), "unanswered"],
  ["nothing while the jobs of one get no answer", coderd(organizations, jobs(), timeout), "unanswered"],
  ["nothing while coderd is busy", coderd(organizations, busy, jobs("running")), "unanswered"],
  ["nothing where the token may not list organizations", coderd(refused), "unknown"],
  ["nothing where no organization lists its jobs", coderd(organizations, absent, refused), "unknown"],
  ["the builds that it may see", coderd(organizations, refused, jobs("running")), 1],
])("the operator counts %s", async (_case, client, expected) => {
  expect(await countBuilds(client)).toBe(expected);
});

test.each([21, 300])("the operator counts a build in the last of %i organizations", async (count) => {
  const ids = Array.from({ length: count }, (_, index) => ({ id: String(index) }));
  const client = {
    organizations: async () => succeeded(ids),
    unfinishedJobs: async (id: string) => (id === String(count - 1) ? jobs("running") : jobs("pending")),
  } as unknown as CoderClient;
  expect(await countBuilds(client)).toBe(1);
});
