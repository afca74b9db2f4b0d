import { ConfigMap } from "kube-controller-runtime";
import type { ApiUnderTest } from "./api-under-test.ts";

/** The error of work that must fail. */
export async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error("the request should have failed");
    },
    (error: unknown) => error,
  );
}

/** All items of an iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** A namespace with ConfigMaps of the red team (`one`), of the blue team (`two`) and of none (`three`). */
export async function namespaceOfThree(api: ApiUnderTest): Promise<string> {
  const namespace = await api.newNamespace();
  const create = (name: string, labels?: Record<string, string>) =>
    api.other.create(ConfigMap, { metadata: { namespace, name, ...(labels ? { labels } : {}) } });
  await create("one", { team: "red" });
  await create("two", { team: "blue" });
  await create("three");
  return namespace;
}
