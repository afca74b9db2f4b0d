import type { Platform } from "./platform.ts";

const NAME = "container-script";
/** The exit code of a program that has ended by its fate, and what it writes last. */
export const SCRIPT_END = { exitCode: 3, lastLine: "the last line of its log" } as const;

/**
 * A container that does what a ConfigMap says instead of what it is for, from its next start on; "$@" are its
 * arguments. A pod that is deleted ends at once.
 */
export const scripted = {
  command: [
    ...["/bin/sh", "-c"],
    `if [ "$SCRIPT" ]; then eval "$SCRIPT"; else /opt/coder "$@"; fi; echo "${SCRIPT_END.lastLine}" >&2; exit ${SCRIPT_END.exitCode}`,
    "--",
  ],
  extraEnv: [{ name: "SCRIPT", valueFrom: { configMapKeyRef: { name: NAME, key: "line", optional: true } } }],
  terminationGracePeriodSeconds: 1,
};

/** A daemon or server that serves for a while and ends by a signal. */
export const serveFor = (seconds: number) => `timeout -s KILL ${seconds} /opt/coder "$@"`;

/** Gives the scripted containers of a namespace a line of shell to run, and kills what these pods run now. */
export async function setScript(
  { cluster, namespace }: Platform,
  line: string,
  pods: readonly string[] = [],
): Promise<void> {
  const metadata = { namespace, name: NAME };
  await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { line } });
  // Everything but the shell that is its first process; that ends the command itself, too.
  for (const pod of pods)
    await cluster
      .kubectl(["exec", pod, `--namespace=${namespace}`, "--", "/bin/sh", "-c", "kill -9 -1"])
      .catch(() => undefined);
}

/** Containers do again what they are for. */
export async function clearScript({ cluster, namespace }: Platform): Promise<void> {
  await cluster.kubectl(["delete", "configmap", NAME, `--namespace=${namespace}`]);
}
