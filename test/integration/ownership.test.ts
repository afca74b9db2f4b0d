import { sharedCluster } from "../support/cluster/shared.ts";
import { ownershipSuite } from "../support/ownership-suite.ts";
import { openRealWorld } from "../support/world/real.ts";

ownershipSuite(() => openRealWorld(sharedCluster()));
