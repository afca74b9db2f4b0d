import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { coderCharts } from "../../tools/coder/charts.ts";
import { blocks } from "../docs/pages.ts";
import { serverSettings } from "../e2e/support/server-settings.ts";
import { ChartRepository } from "./support/chart-repository.ts";
import { Cluster } from "./support/cluster.ts";
import { createDatabase, secret } from "./support/platform.ts";
import { Poller } from "./support/poller.ts";
import { Reader } from "./support/shell-user.ts";

const PAGE = "docs/tutorials/from-the-helm-charts.md";
/** The page calls it so. */
const NAMESPACE = "coder";
/** Of provisioners, which are a release of their own. */
const SKIPPED = /coderprovisioner/;

/** Less than the chart asks for, so that old and new pods fit on a small node side by side. */
const RESOURCES = { requests: { cpu: "50m", memory: "256Mi" } };

/** Without it, a pod may stop listening before every node knows that it ends. */
const LIFECYCLE = { preStop: { sleep: { seconds: 3 } } };

const commands = blocks.filter(
  ({ page, language, text }) => page === PAGE && language === "sh" && !SKIPPED.test(text),
);

describe.runIf(inject("place")?.coder)("a reader with a release of Coder's own chart", () => {
  const owned = new AsyncDisposableStack();
  let reader: Reader;
  let poller: Poller;
  beforeAll(async () => {
    const cluster = new Cluster();
    const { coder } = cluster.place;
    reader = owned.use(await Reader.of(cluster.place));
    const database = await createDatabase(cluster, owned);
    await cluster.kubectl(["create", "namespace", NAMESPACE]);
    owned.defer(
      async () => void (await cluster.kubectl(["delete", "namespace", NAMESPACE, "--timeout=180s"])),
    );
    await cluster.apply(secret(NAMESPACE, "coder-db-url", { url: `${database.url}?sslmode=disable` }));
    const charts = owned.adopt(await coderCharts(), (folder) => rm(folder, { recursive: true, force: true }));
    const [repository, tag = ""] = (coder?.older ?? "").split(/:(?=[^:]+$)/);
    owned.use(
      await ChartRepository.add(reader, {
        name: "coder-v2",
        chart: join(charts, "coder"),
        version: tag.slice(1),
      }),
    );
    const values = {
      coder: {
        image: { repo: repository, tag },
        replicaCount: 2,
        env: environment(),
        resources: RESOURCES,
        lifecycle: LIFECYCLE,
      },
    };
    const install = `helm install coder coder-v2/coder --namespace ${NAMESPACE} --wait --timeout=3m --values -`;
    await reader.types(`${install} <<'EOF'\n${JSON.stringify(values)}\nEOF`);
    poller = owned.use(
      await Poller.start(cluster, { namespace: NAMESPACE, url: `http://coder.${NAMESPACE}/healthz` }),
    );
  });
  afterAll(() => owned.disposeAsync());

  test.for(commands)("moves over and back by the commands at $page:$line", async ({ text }) => {
    await reader.types(text, { cwd: reader.folder });
  });

  test("was answered throughout the move", async () => {
    const { answered, failed } = await poller.counts();
    expect(failed).toEqual([]);
    expect(answered).toBeGreaterThan(100);
  });
});

function environment(): object[] {
  const url = {
    name: "CODER_PG_CONNECTION_URL",
    valueFrom: { secretKeyRef: { name: "coder-db-url", key: "url" } },
  };
  return [url, ...Object.entries(serverSettings).map(([name, value]) => ({ name, value }))];
}
