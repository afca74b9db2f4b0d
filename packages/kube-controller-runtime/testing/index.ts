/**
 * Tools for testing operators: an in-memory API server, a virtual clock, fault injection, and a real API
 * server on loopback. They do not depend on a test framework.
 */

// In memory, in virtual time.
export { FakeApi } from "./fake-api/fake-api.ts";
export type { Schema } from "./fake-api/schema.ts";
export { parseAddress } from "./fake-api/address.ts";
export { type ManagerUnderTest, prepareManager } from "./manager-under-test.ts";
export { settle, VirtualClock } from "./clock.ts";
export { sleepOn } from "./sleep.ts";
export { Dice } from "./dice.ts";
export {
  answers,
  type Fault,
  FaultyTransport,
  neverAnswers,
  offline,
  refusesStreamingLists,
  silent,
  times,
  when,
} from "./faulty-transport.ts";

// Stubs.
export { stored } from "./stored.ts";
export { apiError, silentLog, stubClient } from "./stub-client.ts";
export { unfenced } from "./unfenced.ts";

// A real API server and etcd on loopback.
export { type ClusterOptions, LocalCluster, startCluster } from "./cluster/cluster.ts";
export { ClusterAccess, type ClusterConnection, type KubectlResult } from "./cluster/access.ts";
export type { AuditRequest } from "./cluster/audit.ts";
export { adminClient, clientAs, transportAs } from "./admin-client.ts";
export { apiObject, apiRequest } from "./cluster/api-request.ts";
export { rolledOutStatus } from "./cluster/readiness.ts";
export { writeKubeconfig } from "./cluster/credentials.ts";
export { type Deadline, eventually } from "./eventually.ts";

// Other programs.
export { Supervised } from "./cluster/supervised.ts";
export { onFreePort, untilReady } from "./cluster/start.ts";
export { type Certificate, type CertificateAuthority, createCertificateAuthority } from "./certificates.ts";
