/** What tests of an operator need: an API server in memory, a clock to move by hand, a real cluster on loopback. */
export { adminClient, clientAs, transportAs } from "./admin-client.ts";
export { type Certificate, type CertificateAuthority, createCertificateAuthority } from "./certificates.ts";
export { settle, VirtualClock } from "./clock.ts";
export { ClusterAccess, type ClusterConnection, type KubectlResult } from "./cluster/access.ts";
export { apiObject, apiRequest } from "./cluster/api-request.ts";
export type { AuditRequest } from "./cluster/audit.ts";
export { LocalCluster, startCluster } from "./cluster/cluster.ts";
export { writeKubeconfig } from "./cluster/credentials.ts";
export { rolledOutStatus } from "./cluster/readiness.ts";
export { onFreePort, untilReady } from "./cluster/start.ts";
export { Supervised } from "./cluster/supervised.ts";
export { startConnectProxy } from "../test/support/connect-proxy.ts";
export { Dice } from "./dice.ts";
export { eventually, type Patience } from "./eventually.ts";
export { parseAddress } from "./fake-api/address.ts";
export { FakeApi } from "./fake-api/fake-api.ts";
export type { Schema } from "./fake-api/schema.ts";
export {
  answers,
  type Fault,
  FaultyTransport,
  neverAnswers,
  offline,
  refusesStreamingLists,
  times,
  when,
} from "./faulty-transport.ts";
export { base64, execAnswer, execUser, kubeconfigFolder } from "../test/support/kubeconfig-folder.ts";
export { prepareManager } from "../test/support/manager-under-test.ts";
export { sleepOn } from "./sleep.ts";
export { stored } from "./stored.ts";
export { apiError, silentLog, stubClient } from "./stub-client.ts";
export { unfenced } from "./unfenced.ts";
