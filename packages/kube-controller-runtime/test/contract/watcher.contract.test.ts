import { ConfigMap } from "kube-controller-runtime";
import { offline, refusesStreamingLists } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { contract } from "./api-under-test.ts";
import { Follower, followed } from "./follower.ts";

contract("a watcher", (api) => {
  const { write, remove, follow, ref } = followed(api);

  test("reports the present state in a bracket, then every change in order", async () => {
    await write("a", "1");
    await using follower = follow();
    await follower.hears("init", "initApply a=1", "initDone");
    await write("a", "2");
    await write("b", "1");
    await remove("a");
    await follower.hears("apply a=2", "apply b=1", "delete a=2");
  });

  test("reports an object that no longer matches as deleted", async () => {
    await write("a", "1");
    await using follower = follow();
    await follower.hears("init", "initApply a=1", "initDone");
    await api().other.mergePatch(ConfigMap, ref("a"), { metadata: { labels: { followed: "no" } } });
    await follower.hears("delete a=1");
  });

  test("continues after a broken connection without lost or duplicate events", async () => {
    await using follower = follow();
    await follower.hears("init", "initDone");
    await write("a", "1");
    await follower.hears("apply a=1");
    api().transport.fault = offline;
    api().transport.cutWatches();
    await write("a", "2");
    await write("b", "1");
    await remove("a");
    api().transport.fault = undefined;
    await write("c", "1");
    await follower.hears("apply a=2", "apply b=1", "delete a=2", "apply c=1");
  });

  test("survives connections that break under a stream of changes", async () => {
    await using follower = follow();
    await follower.hears("init", "initDone");
    const expected: string[] = [];
    for (let change = 0; change < 60; change++) {
      await write("a", String(change));
      expected.push(`apply a=${change}`);
      if (change % 5 === 0) api().transport.cutWatches();
    }
    await follower.hears(...expected);
    expect(follower.events).toEqual([]);
  });

  test("lists page by page where the server refuses to stream", async () => {
    api().transport.fault = refusesStreamingLists;
    await write("a", "1");
    await using follower = follow();
    await follower.hears("init", "initApply a=1", "initDone");
    expect(api().transport.requests.at(-1)?.path).not.toContain("sendInitialEvents");
    await write("b", "1");
    await follower.hears("apply b=1");
  });

  test("of metadata only receives every change without its content", async () => {
    const selection = { namespace: ref("").namespace, labelSelector: "followed=yes", metadataOnly: true };
    await write("a", "1");
    await using follower = new Follower(api(), { selection });
    await follower.hears("init", "initApply a", "initDone");
    await write("a", "2");
    await follower.hears("apply a");
  });
});
