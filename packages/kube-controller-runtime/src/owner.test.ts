import { expect, it } from "vitest";
import { Deployment } from "./kinds.ts";
import { controllerOf, controllerReference } from "./owner.ts";

const owner = { metadata: { name: "w", uid: "uid-w", resourceVersion: "1" } };

it("a controller reference names the kind even when the object itself does not carry it", () => {
  expect(controllerReference(owner, Deployment)).toEqual({
    apiVersion: "apps/v1",
    kind: "Deployment",
    name: "w",
    uid: "uid-w",
    controller: true,
    blockOwnerDeletion: true,
  });
});

it("the controller of an object is found among its other owners", () => {
  const other = { apiVersion: "v1", kind: "Node", name: "n", uid: "uid-n" };
  const controller = controllerReference(owner, Deployment);
  expect(controllerOf({ metadata: { ownerReferences: [other, controller] } })).toEqual(controller);
});

it.each([
  {},
  { metadata: {} },
  { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }] } },
])("an object without a controller has none (%j)", (object) => {
  expect(controllerOf(object)).toBeUndefined();
});
