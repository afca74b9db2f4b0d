import type { ContainerPlan } from "./launch.ts";
import type { Container } from "./pod.ts";

/** The URL and the timeout of the readiness probe; absent if the pod has no HTTP probe. */
export function probeUrl({
  container,
  podIP,
}: ContainerPlan): { url: string; timeoutMs: number } | undefined {
  const { httpGet, timeoutSeconds = 1 } = container.readinessProbe ?? {};
  if (!httpGet) return undefined;
  const { scheme = "HTTP", port, path = "/" } = httpGet;
  const url = `${scheme.toLowerCase()}://${podIP}:${portNumber(container, port)}${path}`;
  return { url, timeoutMs: timeoutSeconds * 1_000 };
}

/** Ports may be given by name. */
export function portNumber({ name, ports = [] }: Container, port: number | string): number {
  if (typeof port === "number") return port;
  const named = ports.find((candidate) => candidate.name === port);
  if (!named) throw new TypeError(`container ${name} has no port named "${port}"`);
  return named.containerPort;
}
