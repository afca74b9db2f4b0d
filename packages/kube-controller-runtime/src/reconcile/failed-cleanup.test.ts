import { expect, test } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { Widget } from "../../testing/widget.ts";
import { ApiError } from "../index.ts";
import { reportFailedCleanup } from "./reconciler.ts";

test("an object whose cleanup fails says in Ready why it is still there, once", async () => {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  api.install(Widget);
  const client = api.client();
  const metadata = { namespace: "n", name: "coder", finalizers: ["coder.com/x"] };
  const created = await client.create(Widget, { metadata });
  const error = new ApiError('delete Role "other/r": not allowed', { reason: "Forbidden", code: 403 });
  const failed = (object: typeof created) =>
    reportFailedCleanup({ kind: Widget, object, error }, { client, clock });
  await failed(created);
  const object = await client.get(Widget, metadata);
  expect(object.status?.conditions).toEqual([
    expect.objectContaining({
      type: "Ready",
      status: "False",
      reason: "CleanupFailed",
      message: expect.stringContaining("delete Role"),
    }),
  ]);
  await clock.advance(60_000);
  await failed(object);
  const { resourceVersion } = (await client.get(Widget, metadata)).metadata;
  expect(resourceVersion).toBe(object.metadata.resourceVersion);
});
