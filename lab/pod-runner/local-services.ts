import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Client, Pod, Service, type Stored } from "kube-controller-runtime";
import { containerOf } from "./pod.ts";
import { portNumber } from "./probe.ts";

interface Endpoint {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

function serviceURLs(clusterDomain: string): RegExp {
  const domain = clusterDomain.replaceAll(".", "\\.");
  return new RegExp(`\\b(https?)://([a-z0-9-]+)\\.([a-z0-9-]+)\\.svc\\.${domain}(?::(\\d+))?`, "g");
}

type HostAliases = NonNullable<NonNullable<Pod["spec"]>["hostAliases"]>;

/**
 * Replaces cluster DNS and kube-proxy for processes outside the cluster: each referenced Service gets a port
 * on loopback, and each connection goes to a ready pod.
 */
export class LocalServices implements AsyncDisposable {
  readonly #client: Client;
  readonly #urls: RegExp;
  readonly #proxies: Server[] = [];
  readonly #ports = new Map<string, Promise<Server>>();
  readonly #sockets = new Set<Socket>();

  constructor(client: Client, clusterDomain = "cluster.local") {
    this.#client = client;
    this.#urls = serviceURLs(clusterDomain);
  }

  /** Replaces every URL of a Service in the text by a local one. */
  async translate(text: string): Promise<string> {
    let local = text;
    for (const [url, scheme = "http", name = "", namespace = "", port] of text.matchAll(this.#urls)) {
      const number = Number(port ?? (scheme === "https" ? 443 : 80));
      local = local.replaceAll(url, `${scheme}://${await this.#address({ namespace, name, port: number })}`);
    }
    return local;
  }

  /**
   * The URL of an HTTPS proxy that resolves the host aliases of a pod to Services, like `/etc/hosts` in a
   * pod. Programs verify certificates for the requested name.
   */
  async proxyFor(namespace: string, aliases: HostAliases): Promise<string> {
    const server = createHttpServer().on("connect", ({ url = "" }, socket: Socket) => {
      this.#keep(socket);
      void this.#tunnel(socket, { namespace, aliases, target: url }).catch(() => socket.destroy());
    });
    this.#proxies.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = [...(await Promise.all(this.#ports.values())), ...this.#proxies];
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

  async #tunnel(
    socket: Socket,
    { namespace, aliases, target }: { namespace: string; aliases: HostAliases; target: string },
  ): Promise<void> {
    const [host = "", port] = target.split(":");
    const alias = aliases.find(({ hostnames = [] }) => hostnames.includes(host));
    const { items } = await this.#client.list(Service, { namespace });
    const service = items.find(({ spec }) => alias && spec?.clusterIP === alias.ip);
    if (!service) throw new Error(`${host} is not mapped to a Service`);
    const endpoint = { namespace, name: service.metadata.name, port: Number(port) };
    const onward = this.#keep(connect(await this.#target(endpoint)));
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    socket.pipe(onward).pipe(socket);
    socket.once("close", () => onward.destroy());
    onward.once("close", () => socket.destroy());
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
