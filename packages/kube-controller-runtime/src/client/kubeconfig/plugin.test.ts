import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { base64, execAnswer, execUser, kubeconfigFolder } from "../../../test/support/kubeconfig-folder.ts";
import { VirtualClock } from "../../../testing/clock.ts";
import { eventually } from "../../../testing/eventually.ts";
import { loadCredentials } from "../credentials.ts";

const answering = (status: object) => `printf '%s' '${execAnswer(status)}'`;

/** The value of KUBERNETES_EXEC_INFO for the plugin. */
async function infoGiven(exec: object, cluster: object): Promise<unknown> {
  const { dir, kubeconfig, write } = kubeconfigFolder();
  write("ca.pem", "-----BEGIN X-----");
  const { apiVersion } = execUser("", exec).exec;
  const script = `printf '%s' "$KUBERNETES_EXEC_INFO" > ${dir}/info; printf '%s' '${execAnswer({ token: "t" }, apiVersion)}'`;
  await loadCredentials({ kubeconfig: kubeconfig(execUser(script, exec), cluster) });
  return JSON.parse(readFileSync(join(dir, "info"), "utf8"));
}

describe("a plugin is given", () => {
  test.each(["v1", "v1beta1"])(
    "the configured version %s, and that it is not interactive",
    async (version) => {
      const apiVersion = `client.authentication.k8s.io/${version}`;
      expect(await infoGiven({ apiVersion }, {})).toEqual({
        apiVersion,
        kind: "ExecCredential",
        spec: { interactive: false },
      });
    },
  );

  test("the cluster if it requests it, with the content of its CA", async () => {
    const cluster = {
      server: "https://api.example.com:6443/prefix",
      "certificate-authority": "ca.pem",
      "tls-server-name": "kubernetes",
      "proxy-url": "http://proxy:3128",
      extensions: [
        { name: "other", extension: 1 },
        { name: "client.authentication.k8s.io/exec", extension: { audience: "x" } },
      ],
    };
    expect(await infoGiven({ provideClusterInfo: true }, cluster)).toMatchObject({
      spec: {
        cluster: {
          server: "https://api.example.com:6443/prefix",
          "certificate-authority-data": base64("-----BEGIN X-----"),
          "tls-server-name": "kubernetes",
          "proxy-url": "http://proxy:3128",
          config: { audience: "x" },
        },
      },
    });
  });

  test("its arguments and variables, those of the process, and no terminal", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const script = `test -n "$PATH" && ! read line && ${answering({ token: "X" }).replace("X", `'"$1$VAR"'`)}`;
    const exec = { args: ["-c", script, "sh", "arg-"], env: [{ name: "VAR", value: "value" }] };
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(execUser("", exec)) });
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer arg-value" });
  });

  test("its path relative to the kubeconfig", async () => {
    const { kubeconfig, write } = kubeconfigFolder();
    spawnSync("chmod", ["+x", write("bin/plugin", `#!/bin/sh\n${answering({ token: "found" })}`)]);
    const config = kubeconfig(execUser("", { command: "./bin/plugin", args: null }));
    expect(await (await loadCredentials({ kubeconfig: config })).headers()).toEqual({
      Authorization: "Bearer found",
    });
  });
});

describe("a plugin that gives nothing to use is refused", () => {
  const secret = "s3cr3t-value";
  test.each<[string, object, RegExp]>([
    ["prints no JSON", execUser(`echo ${secret}`), /did not print an ExecCredential in JSON$/],
    [
      "prints another version",
      execUser(`echo '${execAnswer({ token: secret }, "client.authentication.k8s.io/v1beta1")}'`),
      /did not print an ExecCredential of client.authentication.k8s.io\/v1$/,
    ],
    [
      "prints nothing to authenticate with",
      execUser(answering({})),
      /neither a token nor a client certificate$/,
    ],
    [
      "prints half a pair",
      execUser(answering({ clientKeyData: secret })),
      /only one of clientCertificateData and clientKeyData$/,
    ],
    [
      "prints a pair that is none",
      execUser(answering({ clientKeyData: secret, clientCertificateData: secret })),
      /not a certificate and an unencrypted key in PEM$/,
    ],
    [
      "prints a bad expiry",
      execUser(answering({ token: secret, expirationTimestamp: "soon" })),
      /expirationTimestamp that is not a timestamp$/,
    ],
    ["prints without end", execUser("yes"), /printed more than 1 MiB$/],
    [
      "is not installed",
      execUser("", { command: "no-such-plugin", installHint: "brew install it" }),
      /can't be started: ENOENT; brew install it$/,
    ],
    ["fails", execUser("echo please log in >&2; exit 7"), /exited with code 7: please log in$/],
    [
      "repeats a secret variable, argument or URL",
      execUser("", {
        args: [
          "-c",
          'echo "$VAR" "$2" "$3" http://me:pass@host >&2; exit 1',
          "sh",
          "--client-secret",
          secret,
          `--token=${secret}2`,
        ],
        env: [{ name: "VAR", value: `${secret}1` }],
      }),
      /exited with code 1: \[redacted\] \[redacted\] --token=\[redacted\] http:\S*$/,
    ],
  ])("when it %s, without what it printed", async (_, user, message) => {
    const { kubeconfig } = kubeconfigFolder();
    const error = await loadCredentials({ kubeconfig: kubeconfig(user) }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: "KubeconfigError", message: expect.stringMatching(message) });
    expect(String(error)).not.toContain(secret);
    expect(String(error)).not.toContain("pass@");
  });
});

/** Ended, or a zombie. */
function isGone(pid: string): boolean {
  return /^Z?$/.test(
    spawnSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).stdout.trim().slice(0, 1),
  );
}

test("a plugin that hangs is killed after 30 seconds with all that it has started", async () => {
  const { dir, kubeconfig } = kubeconfigFolder();
  const clock = new VirtualClock();
  const pids = join(dir, "pids");
  const script = `sleep 1000 & echo "$$ $!" > ${pids}.new; mv ${pids}.new ${pids}; wait`;
  const loading = loadCredentials({ kubeconfig: kubeconfig(execUser(script)) }, clock);
  const failure = expect(loading).rejects.toThrow("did not finish within 30 seconds");
  await eventually(() => expect(existsSync(pids)).toBe(true), { withinMs: 20_000 });
  const running = readFileSync(pids, "utf8").trim().split(" ");
  expect(running.map(isGone)).toEqual([false, false]);
  await clock.advance(30_000);
  await failure;
  await eventually(() => expect(running.map(isGone)).toEqual([true, true]), { withinMs: 20_000 });
  expect(clock.pending).toBe(0);
});
