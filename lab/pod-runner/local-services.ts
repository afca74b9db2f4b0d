import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Client, Pod, Service, type Stored } from "kube-controller-runtime";
import { containerOf } from "./pod.ts";
import { portNumber } from "./probe.ts";

interface Endpoint {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

const SERVICE_URL = /\b(https?):\/\/([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.cluster\.local(?::(\d+))?/g;

/**
 * Plays cluster DNS and kube-proxy for processes outside the cluster: each Service they name gets a port on
 * loopback, and each connection to it goes to a pod that is ready then.
 */
export class LocalServices implements AsyncDisposable {
  readonly #client: Client;
  readonly #ports = new Map<string, Promise<Server>>();
  readonly #sockets = new Set<Socket>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** The text with every URL of a Service replaced by one that works on this machine. */
  async translate(text: string): Promise<string> {
    let local = text;
    for (const [url, scheme = "http", name = "", namespace = "", port] of text.matchAll(SERVICE_URL)) {
      const number = Number(port ?? (scheme === "https" ? 443 : 80));
      local = local.replaceAll(url, `${scheme}://${await this.#address({ namespace, name, port: number })}`);
    }
    return local;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = await Promise.all(this.#ports.values());
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  async #address(endpoint: Endpoint): Promise<string> {
    const key = `${endpoint.namespace}/${endpoint.name}:${endpoint.port}`;
    const listening = this.#ports.get(key) ?? this.#listen(endpoint);
    this.#ports.set(key, listening);
    return `127.0.0.1:${((await listening).address() as AddressInfo).port}`;
  }

  #listen(endpoint: Endpoint): Promise<Server> {
    const server = createServer((socket) => {
      this.#keep(socket);
      void this.#forward(socket, endpoint).catch(() => socket.destroy());
    });
    return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
  }

  async #forward(socket: Socket, endpoint: Endpoint): Promise<void> {
    const target = this.#keep(connect(await this.#target(endpoint)));
    socket.pipe(target).pipe(socket);
    socket.once("close", () => target.destroy());
    target.once("close", () => socket.destroy());
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on("error", () => {}).once("close", () => this.#sockets.delete(socket));
  }

  async #target({ namespace, name, port }: Endpoint): Promise<{ host: string; port: number }> {
    const service = await this.#client.get(Service, { namespace, name });
    const labelSelector = Object.entries(service.spec?.selector ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
    const { items } = await this.#client.list(Pod, { namespace, labelSelector });
    const pod = items.find(isReady);
    const served = service.spec?.ports?.find((candidate) => candidate.port === port);
    if (!pod?.status?.podIP || !served) throw new Error(`Service ${name} has no ready pod for port ${port}`);
    return { host: pod.status.podIP, port: portNumber(containerOf(pod), served.targetPort ?? port) };
  }
}

function isReady({ metadata, status }: Stored<Pod>): boolean {
  const ready = status?.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True");
  return ready === true && !metadata.deletionTimestamp;
}
