import { type Answer, answer, CommandError, type Context, EXIT, type Given } from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { currentObjects } from "./current-objects.ts";
import { desiredObjects } from "./desired-objects.ts";
import { differences } from "./differences.ts";
import { checkedName, releaseInCluster, releaseInFile } from "./find-release.ts";
import { type Checked, checkLines, type Imported, manifestLines } from "./format.ts";
import type { Release } from "./release.ts";
import { type Manifest, translate } from "./translate.ts";

/**
 * Reads a release, translates it to a manifest, and on request compares it with the cluster. Writes nothing.
 */
export async function run(context: Context, { arguments: [typed = ""], flags }: Given): Promise<Answer> {
  const release = await releaseOf(context, checkedName(typed), flags);
  const { name, chart, version } = release;
  const imported: Imported = { release: { name, chart, version }, ...translate(release) };
  if (flags.check !== true) return { ...answer(imported, manifestLines), whole: true };
  const gaps = new Gaps();
  const { objects, kinds } = await currentObjects(await context.connect(), release, gaps);
  const found = differences(objects, builtFrom(imported.manifest), kinds);
  const checked: Checked = { ...imported, differences: found, gaps: gaps.lines };
  const isOpen = gaps.lines.length > 0 || found.some(({ because }) => because === undefined);
  return answer(checked, checkLines, isOpen ? EXIT.attention : EXIT.fine);
}

async function releaseOf(
  context: Context,
  name: string,
  { values, chart }: Given["flags"],
): Promise<Release> {
  const cluster = await context.connect();
  if (typeof values !== "string") return releaseInCluster(cluster, name);
  return releaseInFile(values, `${chart ?? ""}`, { name, namespace: cluster.homeNamespace });
}

/** The builders expect validated objects, but values may contain anything. */
function builtFrom(manifest: Manifest) {
  try {
    return desiredObjects(manifest);
  } catch {
    throw new CommandError(
      "Kubernetes would reject some of the values, so nothing can be compared. To find them, apply the printed manifest with --dry-run=server.",
    );
  }
}
