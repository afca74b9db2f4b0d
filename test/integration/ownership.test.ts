import { eventually } from "kube-controller-runtime/testing";
import { HTTPRoute } from "../../src/operator/workload/exposure/gateway.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { httpRouteDefinition } from "../support/gateway-api.ts";
import { ownershipSuite } from "../support/ownership-suite.ts";
import { openRealWorld } from "../support/world/real.ts";

// test/world/ownership.test.ts tries every origin with every child, in memory.
ownershipSuite(async () => {
  const cluster = sharedCluster();
  // It stays: no file needs a shared cluster without it but gateway.test.ts, which has the other one.
  await cluster.apply(httpRouteDefinition);
  const world = await openRealWorld(cluster);
  await eventually(() => world.person.list(HTTPRoute, {}), { withinMs: 30_000 });
  return world;
}, "two origins");
