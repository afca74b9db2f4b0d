import { type Client, systemClock } from "kube-controller-runtime";
import { adminClient, type ClusterAccess, eventually, transportAs } from "kube-controller-runtime/testing";
import { type CoderdServer, startCoderdServer } from "../../../lab/coderd/server.ts";
import type { OperatorEnvironment } from "../../../lab/operator.ts";
import { fixedAddress } from "../../../src/coder/http/route.ts";
import { SkewedClock } from "../skewed-clock.ts";
import type { World, WorldCoderds } from "./world.ts";

/** A world of real parts: a given cluster, and coderds behind a socket. */
export class RealWorld implements World {
  readonly timeIsReal = true;
  readonly clock = new SkewedClock();
  readonly cluster: ClusterAccess;
  readonly person: Client;
  readonly server: CoderdServer;
  readonly coderds: WorldCoderds;
  readonly eventually = eventually;

  /** Use `openRealWorld`. */
  constructor(cluster: ClusterAccess, person: Client, server: CoderdServer) {
    this.cluster = cluster;
    this.person = person;
    this.server = server;
    this.coderds = { route: fixedAddress(server.url), add: server.add };
  }

  createNamespace(prefix: string): Promise<string> {
    return this.cluster.createNamespace(prefix);
  }

  async operatorEnvironment(): Promise<OperatorEnvironment> {
    return {
      transport: await transportAs(this.cluster.operator),
      // A jump must end no request.
      requestClock: systemClock,
      random: Math.random,
      eventually,
      finish: (work) => work,
    };
  }

  markDeploymentReady(namespace: string, name: string): Promise<void> {
    return this.cluster.markDeploymentReady(namespace, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }
}

export async function openRealWorld(cluster: ClusterAccess): Promise<RealWorld> {
  const [person, server] = await Promise.all([adminClient(cluster), startCoderdServer()]);
  return new RealWorld(cluster, person, server);
}
