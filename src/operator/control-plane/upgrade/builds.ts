import type { CoderClient } from "../../../coder/client.ts";
import { mayPass } from "../../../coder/failure.ts";

/**
 * Builds that run: `unknown` where coderd never says, `unanswered` where it did not say this time.
 */
export type Builds = number | "unknown" | "unanswered";

/** More organizations than this are not looked at one by one: waiting for builds is a courtesy. */
const MOST_ORGANIZATIONS = 20;

const RUNNING: ReadonlySet<string> = new Set(["running", "canceling"]);

/** Counts the builds that run now in the organizations that coderd shows. */
export async function countBuilds(client: CoderClient): Promise<Builds> {
  const organizations = await client.organizations();
  if (!organizations.ok) return mayPass(organizations.failure) ? "unanswered" : "unknown";
  const looked = organizations.value.slice(0, MOST_ORGANIZATIONS);
  const answers = await Promise.all(looked.map(({ id }) => client.unfinishedJobs(id)));
  if (answers.some((jobs) => !jobs.ok && mayPass(jobs.failure))) return "unanswered";
  if (!answers.some((jobs) => jobs.ok)) return "unknown";
  const jobs = answers.flatMap((each) => (each.ok ? each.value : []));
  return jobs.filter(({ status }) => RUNNING.has(status)).length;
}
