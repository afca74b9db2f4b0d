import { setTimeout as sleep } from "node:timers/promises";
import type { Incident } from "./incidents.ts";
import { applyWish, deleteSecret, recreate } from "./user.ts";
import type { World } from "./world.ts";

/** Makes an incident happen; resolves when it is over. */
export async function perform(incident: Incident, world: World): Promise<void> {
  switch (incident.what) {
    case "apiServerRestart":
      await world.cluster.stopApiServer(incident.signal);
      await sleep(incident.forMs);
      return world.cluster.startApiServer();
    case "etcdPause":
      return during(incident.forMs, () => {
        world.cluster.pauseEtcd();
        return () => world.cluster.resumeEtcd();
      });
    case "network":
      return disturbNetwork(incident, world);
    case "coderd":
      return during(
        incident.forMs,
        () => world.coderds.get(incident.name)?.deployment.faults.inject(incident.injection) ?? nothing,
      );
    case "postgresRestart":
      await world.postgres.turn("down");
      await sleep(incident.forMs);
      return world.postgres.turn("up");
    case "operatorEnd":
      return world.replicas.find(incident.role)?.stop(incident.signal);
    case "operatorPause":
      return pauseOperator(incident, world);
    case "clockStep":
      return world.replicas
        .find(incident.role)
        ?.program.signal(incident.step === "ahead" ? "SIGUSR2" : "SIGHUP");
    case "secretDeletion":
      return deleteSecret(incident.secret, world);
    case "change":
      return applyWish(incident.wish, world);
    case "recreation":
      return recreate(incident.wish, world);
  }
}

const nothing = () => {};

/** Begins something and ends it after a while. */
async function during(ms: number, begin: () => () => unknown): Promise<void> {
  const end = begin();
  await sleep(ms);
  end();
}

function disturbNetwork(
  { fault, forMs }: Extract<Incident, { what: "network" }>,
  { network }: World,
): Promise<void> {
  return during(forMs, () => {
    if (!fault) network.disconnect();
    network.fault = fault;
    return () => {
      network.fault = undefined;
    };
  });
}

function pauseOperator(
  { role, forMs }: Extract<Incident, { what: "operatorPause" }>,
  { replicas }: World,
): Promise<void> {
  return during(forMs, () => {
    const program = replicas.find(role)?.program;
    program?.signal("SIGSTOP");
    return () => program?.signal("SIGCONT");
  });
}
