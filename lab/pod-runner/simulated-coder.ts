import type { CoderdDeployment, Daemon, SimulatedProxy } from "../coderd/deployment.ts";
import type { Environment } from "./environment.ts";
import type { Launch, RunningContainer } from "./launch.ts";

/** How a program interacts with coderd. */
interface Guest {
  /** Reports to coderd; false if it is rejected. */
  present(): boolean;
  leave(): void;
}

/**
 * Containers that only exist in the coderd simulator: daemons join with their key, proxies report with their
 * token, and neither is ready unless it is accepted. coderd itself is ready immediately.
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

/** A container that prints the version of its program and exits. */
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
      // Daemons are removed with their key; like a real daemon, this one then tries to join again.
      if (!joined || !coderd.daemons.includes(joined)) joined = coderd.connectDaemon(name, key);
      return joined !== undefined;
    },
    leave() {
      coderd.daemons = coderd.daemons.filter((other) => other !== joined);
    },
  };
}

/** Several pods may belong to one proxy: it is unreachable only after the last of them has ended. */
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
