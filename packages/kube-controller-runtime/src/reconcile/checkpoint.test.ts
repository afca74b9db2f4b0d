import { expect, test } from "vitest";
import { stored } from "../../testing/stored.ts";
import { Widget, type WidgetStatus } from "../../testing/widget.ts";
import { ApiError, type Client, type Stored } from "../index.ts";
import { checkpoint, SchemaOutdatedError } from "./checkpoint.ts";

const object = stored<Widget>({ status: { key: "old" } });

/** An API server that responds to a status write with this status. */
function answering(status: Widget["status"] & object): Pick<Client, "patchStatus"> {
  const metadata = { ...object.metadata, resourceVersion: "2" };
  return { patchStatus: async () => ({ ...object, metadata, status }) as never };
}

const write = (client: Pick<Client, "patchStatus">): Promise<Stored<Widget> | undefined> =>
  checkpoint<Widget, WidgetStatus>(
    { kind: Widget, object },
    () => ({ pendingKey: { name: "new", attempt: "1" }, key: undefined }),
    { client: client as Client },
  );

test("what was stored as a whole is written down", async () => {
  const written = await write(answering({ pendingKey: { name: "new", attempt: "1" } }));
  expect(written?.status?.pendingKey).toEqual({ name: "new", attempt: "1" });
});

test("what an older definition of the kind drops is an error that says what to do", async () => {
  await expect(write(answering({ pendingKey: { name: "new" } }))).rejects.toThrow(SchemaOutdatedError);
  await expect(write(answering({}))).rejects.toThrow("install the CRDs of this release");
});

test.each([
  ["a newer spec came first", { generation: 2 }],
  ["the object was deleted and recreated", { uid: "another" }],
])("nothing is written, and the run must not go on, when %s", async (_, newer) => {
  const conflict = new ApiError("the object has been modified", { reason: "Conflict", code: 409 });
  const fresh = { ...object, metadata: { ...object.metadata, resourceVersion: "2", ...newer } };
  const client = { patchStatus: () => Promise.reject(conflict), get: async () => fresh as never };
  expect(await write(client)).toBeUndefined();
});
