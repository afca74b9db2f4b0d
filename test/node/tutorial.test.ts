import { runningNode } from "kube-controller-runtime/testing/node";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { startRegistry } from "../../lab/node/registry.ts";
import { coderImages } from "../../tools/coder-image/image.ts";
import { blocks, pages } from "../docs/pages.ts";
import { Cluster } from "./support/cluster.ts";
import { installOperator } from "./support/operator.ts";
import { createDatabase } from "./support/platform.ts";
import { Reader } from "./support/shell-user.ts";

const OPERATOR = "coder-system";

/** A cluster of one's own has images of the operator by the name in the documentation; others need `IMAGE_PREFIX`. */
const place = inject("place");
const isFresh = place?.coder !== undefined && place.imagePrefix === undefined;

describe.runIf(isFresh)("a reader with an empty cluster and a database", () => {
  const owned = new AsyncDisposableStack();
  let cluster: Cluster;
  let reader: Reader;
  let databaseUrl: string;
  beforeAll(async () => {
    cluster = new Cluster();
    reader = owned.use(await Reader.of(cluster.place));
    databaseUrl = `${(await createDatabase(cluster, owned)).url}?sslmode=disable`;
    if (cluster.place.local) await haveLatest();
    await reader.types("helm uninstall coder-k8s --namespace coder-system --wait");
    await reader.types("kubectl delete namespace coder-system --timeout=2m");
  });
  afterAll(async () => {
    await installOperator(cluster.place);
    await owned.disposeAsync();
  });

  /** The tag is pulled, always, and a node of ours has no way to a registry. */
  async function haveLatest(): Promise<void> {
    const node = (await runningNode()) ?? expect.fail("no node runs");
    const { current } = await coderImages();
    const registry = owned.use(await startRegistry(current.file, node.machineAddress));
    await node.mirror("ghcr.io", registry.url);
  }

  test.for(
    blocks.filter(({ page, language }) => page === "docs/tutorials/from-zero.md" && language === "sh"),
  )("goes from zero to Coder and back by the commands at $page:$line", async ({ text }) => {
    await reader.types(text, { env: { DATABASE_URL: databaseUrl } });
  });

  test("installs the operator without helm, by the README's other command", async () => {
    const readme = pages.find(({ path }) => path === "README.md")?.text ?? "";
    const [, command] =
      /without helm, `([^`]+)`/.exec(readme) ?? expect.fail("the README has no such command");
    await reader.types("kubectl delete $(kubectl get crd --output=name | grep coder.com) --timeout=1m");
    await reader.types(`${command}`);
    await reader.types(`kubectl -n ${OPERATOR} rollout status deployment/coder-k8s --timeout=2m`);
    await reader.types("kubectl delete --filename config/install.yaml --timeout=2m");
  });
});
