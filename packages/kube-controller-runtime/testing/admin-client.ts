import type { Client } from "../src/client/client.ts";
import { loadCredentials } from "../src/client/credentials.ts";
import { HttpClient } from "../src/client/http-client.ts";
import { httpTransport, type Transport } from "../src/client/transport.ts";
import { systemClock } from "../src/clock.ts";
import type { ClusterAccess } from "./cluster/access.ts";
import type { Identity } from "./cluster/credentials.ts";

/** A transport with the credentials of an identity. */
export async function transportAs({ kubeconfig }: Identity): Promise<Transport> {
  return httpTransport(await loadCredentials({ kubeconfig }));
}

/** A client with which a test reads and writes; `fieldManager` owns the fields that it writes. */
export function adminClient(cluster: ClusterAccess, fieldManager = "a-person"): Promise<Client> {
  return clientAs(cluster.admin, fieldManager);
}

/** The same for any identity of the cluster. */
export async function clientAs(identity: Identity, fieldManager: string): Promise<Client> {
  const transport = await transportAs(identity);
  return new HttpClient({ transport, clock: systemClock, fieldManager, userAgent: "integration-tests" });
}
