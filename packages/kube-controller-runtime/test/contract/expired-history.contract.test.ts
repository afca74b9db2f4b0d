import { ConfigMap, isExpired } from "kube-controller-runtime";
import { eventually, offline, refusesStreamingLists } from "kube-controller-runtime/testing";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { destructiveContract } from "./api-under-test.ts";
import { followed } from "./follower.ts";
import { collect, failure, namespaceOfThree } from "./support.ts";

/** A real API server may be busy. */
const TIME_LIMIT = { withinMs: 20_000 };

destructiveContract("a client whose history is gone", (api) => {
  const { write, remove, follow } = followed(api);

  describe("without a watcher", () => {
    let namespace: string;
    let before: { resourceVersion: string; continueToken?: string | undefined };
    beforeAll(async () => {
      namespace = await namespaceOfThree(api());
      before = await api().client.list(ConfigMap, { namespace, limit: 1 });
      await api().other.create(ConfigMap, { metadata: { namespace, name: "later" } });
      await api().expireHistory();
    });

    test("gets Expired for a watch from an earlier version", async () => {
      const { resourceVersion } = before;
      const options = { namespace, resourceVersion, timeoutSeconds: 30, idleTimeoutMs: 30_000 };
      const error = await failure(collect(api().client.watch(ConfigMap, options)));
      expect(isExpired(error)).toBe(true);
      expect(error).toMatchObject({ reason: "Expired", code: 410 });
    });

    test("gets Expired for the next page of an earlier list", async () => {
      const { continueToken = expect.fail("the list had one page") } = before;
      const error = await failure(api().client.list(ConfigMap, { namespace, limit: 1, continueToken }));
      expect(isExpired(error)).toBe(true);
      expect(error).toMatchObject({ reason: "Expired", code: 410 });
    });
  });

  test.each([
    ["streaming", undefined],
    ["paging", refusesStreamingLists],
  ])("makes its watcher relist by %s: objects deleted in the meantime are missing", async (_, fault) => {
    await write("kept", "1");
    await write("lost", "1");
    api().transport.fault = fault;
    await using follower = follow();
    await vi.waitFor(() => expect(follower.events.at(-1)).toBe("initDone"), { timeout: 10_000 });
    follower.events.splice(0);
    // After a paged list, the watch is a separate request, which must be open before it can be cut.
    await eventually(() => expect(api().transport.openWatches).toBe(1), TIME_LIMIT);
    api().transport.fault = offline;
    api().transport.cutWatches();
    await remove("lost");
    await write("new", "1");
    await api().expireHistory();
    await write("kept", "2");
    api().transport.fault = fault;
    await follower.hears("init", "initApply kept=2", "initApply new=1", "initDone");
    await write("new", "2");
    await follower.hears("apply new=2");
  });
});
