import type { KubeObject, ObjectMeta, Stored } from "../src/object.ts";

/** An object as the API server returns it; named `dev/coder` by default. */
export function stored<T extends KubeObject>(object: T, metadata: Partial<ObjectMeta> = {}): Stored<T> {
  return {
    ...object,
    metadata: {
      name: "coder",
      namespace: "dev",
      uid: "5f8e",
      resourceVersion: "1",
      ...object.metadata,
      ...metadata,
    } as Stored<T>["metadata"],
  };
}
