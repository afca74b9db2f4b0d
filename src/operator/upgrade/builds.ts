import type { CoderClient } from "../../coder/client.ts";
import { mayPass } from "../../coder/failure.ts";

/**
 * Builds that run: `unknown` where coderd never says, `unanswered` where it did not say this time.
 */
export type Builds = number | "unknown" | "unanswered";

/** Organizations that are asked at the same time. */
const BATCH_SIZE = 20;

const RUNNING: ReadonlySet<string> = new Set(["running", "canceling"]);

/**
 * Counts the builds that run now in the organizations that coderd shows. All of them are asked unless some builds were found
 * before: then the count is a lower bound.
 */
export async function countBuilds(client: CoderClient): Promise<Builds> {
  const organizations = await client.organizations();
  if (!organizations.ok) return mayPass(organizations.failure) ? "unanswered" : "unknown";
  const ids = organizations.value.map(({ id }) => id);
  let result: Builds = "unknown";
  for (let from = 0; from < ids.length; from += BATCH_SIZE) {
    const builds = await countIn(ids.slice(from, from + BATCH_SIZE), client);
    if (builds === "unanswered") return builds;
    if (builds !== "unknown") result = builds;
    if (result !== "unknown" && result > 0) return result;
  }
  return result;
}

async function countIn(ids: readonly string[], client: CoderClient): Promise<Builds> {
  const answers = await Promise.all(ids.map((id) => client.unfinishedJobs(id)));
  if (answers.some((jobs) => !jobs.ok && mayPass(jobs.failure))) return "unanswered";
  if (!answers.some((jobs) => jobs.ok)) return "unknown";
  const jobs = answers.flatMap((each) => (each.ok ? each.value : []));
  return jobs.filter(({ status }) => RUNNING.has(status)).length;
}
