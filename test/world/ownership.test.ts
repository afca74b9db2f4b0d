import { HTTPRoute } from "../../src/operator/workload/exposure/gateway.ts";
import { ownershipSuite } from "../support/ownership-suite.ts";
import { MemoryWorld } from "../support/world/memory.ts";

ownershipSuite(async () => {
  const world = new MemoryWorld();
  world.api.install(HTTPRoute);
  return world;
}, "every origin");
