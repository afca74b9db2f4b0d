import type { Client } from "../src/client/client.ts";
import { loadCredentials } from "../src/client/credentials.ts";
import { HttpClient } from "../src/client/http-client.ts";
import { httpTransport, type Transport } from "../src/client/transport.ts";
import { systemClock } from "../src/clock.ts";
import type { ClusterAccess } from "./cluster/access.ts";
import type { Identity } from "./cluster/credentials.ts";

/** Sends requests as one of a cluster's identities. */
export async function transportAs({ kubeconfig }: Identity): Promise<Transport> {
  return httpTransport(await loadCredentials({ kubeconfig }));
}

/** A client by whose hand a test reads and writes; `fieldManager` is who owns what it writes. */
export function adminClient(cluster: ClusterAccess, fieldManager = "a-person"): Promise<Client> {
  return clientAs(cluster.admin, fieldManager);
}

/** The same by the hand of anybody whom the cluster knows. */
export async function clientAs(identity: Identity, fieldManager: string): Promise<Client> {
  const transport = await transportAs(identity);
  return new HttpClient({ transport, clock: systemClock, fieldManager, userAgent: "integration-tests" });
}
