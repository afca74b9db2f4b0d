import type { CoderdDeployment, Daemon, SimulatedProxy } from "../coderd/deployment.ts";
import type { Environment } from "./environment.ts";
import type { Launch, RunningContainer } from "./launch.ts";

/** How one of our programs shows itself at coderd. */
interface Guest {
  /** Reports to coderd; false when it is turned away. */
  present(): boolean;
  leave(): void;
}

/**
 * Containers that only exist at the coderd simulator: daemons join it with their key, proxies report to it
 * with their token, and neither is ready unless it is let in. coderd itself is ready at once.
 */
export function simulatedCoder(coderd: CoderdDeployment): Launch {
  const proxies = new ProxyReports();
  return async ({ env, pod, command }) => {
    if (command.at(-1) === "version") return printsVersion(coderd.version);
    const guest = guestOf(env, { coderd, proxies, name: pod.metadata.name });
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    return {
      ended,
      isReady: async () => guest?.present() ?? true,
      stop: async () => {
        guest?.leave();
        end();
      },
    };
  };
}

/** A container that prints the version of its program and ends. */
function printsVersion(version: string): RunningContainer {
  return {
    ended: Promise.resolve(),
    exitCode: () => 0,
    terminationLog: () => `Coder ${version}\n`,
    isReady: async () => false,
    stop: async () => {},
  };
}

function guestOf(
  env: Environment,
  { coderd, proxies, name }: { coderd: CoderdDeployment; proxies: ProxyReports; name: string },
): Guest | undefined {
  const { CODER_PROVISIONER_DAEMON_KEY: key, CODER_PROXY_SESSION_TOKEN: token } = env;
  if (key !== undefined) return daemon(coderd, env.CODER_PROVISIONER_DAEMON_NAME ?? name, key);
  if (token !== undefined) return proxies.guest(coderd, token);
  return undefined;
}

function daemon(coderd: CoderdDeployment, name: string, key: string): Guest {
  let joined: Daemon | undefined;
  return {
    present() {
      // Daemons vanish with their key; like a real one, this then tries to join again.
      if (!joined || !coderd.daemons.includes(joined)) joined = coderd.connectDaemon(name, key);
      return joined !== undefined;
    },
    leave() {
      coderd.daemons = coderd.daemons.filter((other) => other !== joined);
    },
  };
}

/** Several pods may stand for one proxy: it is out of reach only when the last of them has gone. */
class ProxyReports {
  readonly #reporting = new Map<SimulatedProxy, Set<Guest>>();

  guest(coderd: CoderdDeployment, token: string): Guest {
    let proxy: SimulatedProxy | undefined;
    const guest: Guest = {
      present: () => {
        const accepted = coderd.acceptedProxy(token);
        if (accepted && !this.#pods(accepted).has(guest)) {
          proxy = accepted;
          proxy.status = "ok";
          this.#pods(proxy).add(guest);
        }
        return accepted !== undefined;
      },
      leave: () => {
        if (!proxy) return;
        this.#pods(proxy).delete(guest);
        if (this.#pods(proxy).size === 0) proxy.status = "unreachable";
      },
    };
    return guest;
  }

  #pods(proxy: SimulatedProxy): Set<Guest> {
    const pods = this.#reporting.get(proxy) ?? new Set();
    this.#reporting.set(proxy, pods);
    return pods;
  }
}
