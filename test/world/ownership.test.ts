import { ownershipSuite } from "../support/ownership-suite.ts";
import { MemoryWorld } from "../support/world/memory.ts";

ownershipSuite(async () => new MemoryWorld());
