import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { kubeconfigFolder, kubeconfigText } from "../../../test/support/kubeconfig-folder.ts";
import { loadSettings } from "./sources.ts";

const entry = (kind: string, name: string, content: object) => ({
  [`${kind}s`]: [{ name, [kind]: content }],
});
const server = (name: string) => entry("cluster", "c", { server: `https://${name}` });
const user = (token: string) => entry("user", "u", { token });
const context = (name: string, content: object = { cluster: "c", user: "u" }) =>
  entry("context", name, content);

/** The settings of several files in KUBECONFIG. */
function merged(...files: object[]) {
  const { dir, write } = kubeconfigFolder();
  const paths = files.map((content, index) => write(`${index}/config`, JSON.stringify(content)));
  const load = (list: readonly string[]) =>
    loadSettings({}, { env: { KUBECONFIG: list.join(delimiter) }, home: dir, serviceAccount: dir });
  return { dir, write, paths, load };
}

describe("several files in KUBECONFIG", () => {
  test("the first file that has an entry gives all of it, and the first current-context counts", async () => {
    const { paths, load } = merged(
      { ...server("first"), "current-context": "" },
      { ...server("second"), ...user("second"), "current-context": "a", ...context("b", {}) },
      { ...user("third"), ...context("a"), "current-context": "b" },
    );
    const { cluster, user: found } = await load(paths);
    expect(cluster.server.host).toBe("first");
    expect(found.token).toMatchObject({ text: "second" });
  });

  test("relative paths are relative to their file", async () => {
    const { dir, paths, load } = merged(
      { ...server("first"), ...context("a"), "current-context": "a" },
      entry("user", "u", { tokenFile: "tokens/mine" }),
    );
    expect((await load(paths)).user.token).toMatchObject({ file: join(dir, "1/tokens/mine") });
  });

  test("those that do not exist and empty names are passed over", async () => {
    const { dir, paths, load } = merged({
      ...server("s"),
      ...user("t"),
      ...context("a"),
      "current-context": "a",
    });
    expect((await load(["", join(dir, "missing"), ...paths])).cluster.server.host).toBe("s");
    await expect(load([join(dir, "missing")])).rejects.toThrow(
      `KUBECONFIG does not name an existing file: ${join(dir, "missing")}`,
    );
  });
});

describe("a named context", () => {
  const config = {
    ...server("s"),
    ...user("t"),
    contexts: [
      { name: "a", context: { cluster: "c", user: "u", namespace: "one" } },
      { name: "b", context: { cluster: "c", namespace: "two" } },
    ],
    "current-context": "a",
  };
  const load = (context?: string) => {
    const { paths } = merged(config);
    const env = { KUBECONFIG: paths.join(delimiter), KUBERNETES_SERVICE_HOST: "10.0.0.1" };
    return loadSettings({ context }, { env, home: "/nonexistent", serviceAccount: "/nonexistent" });
  };

  test("is used instead of the current one, with its user and its namespace", async () => {
    expect(await load()).toMatchObject({ namespace: "one", user: { token: { text: "t" } } });
    expect(await load("b")).toMatchObject({ namespace: "two", user: {} });
    expect((await load("b")).user.token).toBeUndefined();
  });

  test("that no file has is refused by its name", async () => {
    await expect(load("c")).rejects.toThrow('context "c" does not exist in');
  });
});

describe("a kubeconfig", () => {
  const load = (kubeconfig: string) =>
    loadSettings({ kubeconfig }, { env: {}, home: "/nonexistent", serviceAccount: "/nonexistent" });

  test("may be YAML with anchors and comments", async () => {
    const { write } = kubeconfigFolder();
    const text = `# mine
current-context: x
clusters: [{name: c, cluster: {server: "https://api"}}]
contexts:
- name: x
  context: &both {cluster: c, user: u}
- name: y
  context: *both
users:
- name: u
  user:
    token: >-
      abc
`;
    expect((await load(write("config", text))).user.token).toMatchObject({ text: "abc" });
  });

  test("may leave out the user, who is anonymous then", async () => {
    const { write } = kubeconfigFolder();
    const config = { ...server("s"), ...context("a", { cluster: "c" }), "current-context": "a" };
    expect((await load(write("config", JSON.stringify(config)))).user).toMatchObject({ impersonation: {} });
  });

  test("is found in the home directory when nothing else is said", async () => {
    const { dir, write } = kubeconfigFolder();
    write(".kube/config", kubeconfigText({ token: "home" }));
    const environment = { env: {}, home: dir, serviceAccount: dir };
    expect((await loadSettings({}, environment)).user.token).toMatchObject({ text: "home" });
  });

  test("that is missing is requested", async () => {
    const { dir } = kubeconfigFolder();
    await expect(loadSettings({}, { env: {}, home: dir, serviceAccount: dir })).rejects.toThrow(
      "no Kubernetes cluster is configured: set --kubeconfig or KUBECONFIG",
    );
  });

  test.each([
    ["is not YAML", "users: [secret-text", /is not valid YAML: \w+ at line 1$/],
    ["is not a map", "- secret-text", /must be a map$/],
    ["has an alias that expands without end", "a: &a [*a]\nb: *a", /no current-context/],
    [
      "has aliases of aliases",
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${[..."bcdefgh"].map((name, i) => `${name}: &${name} [${Array(10).fill(`*${"abcdefgh"[i]}`)}]`).join("\n")}`,
      /its aliases can't be resolved$/,
    ],
    ["has a list of another type", "users: secret-text", /users of kubeconfig .* must be a list$/],
    [
      "has an entry without a name",
      "users: [{user: {token: secret-text}}]",
      /name of users of .* is missing$/,
    ],
    [
      "has two entries of one name",
      "users: [{name: a, user: {token: secret-text}}, {name: a}]",
      /user "a" in .* is defined twice: remove one$/,
    ],
    ["has no current-context", "{}", /has no current-context; set --kubeconfig or KUBECONFIG$/],
    ["names a context that it does not have", "current-context: x", /does not exist in/],
    [
      "names a cluster that it does not have",
      "{current-context: x, contexts: [{name: x, context: {cluster: c}}]}",
      /cluster of context "x" in .* does not exist in the kubeconfig/,
    ],
    [
      "names a user that it does not have",
      "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: 'https://s'}}]}",
      /user of context "x" in .* does not exist in the kubeconfig/,
    ],
    ["is larger than 1 MiB", " ".repeat(1024 * 1024 + 1), /is larger than 1 MiB$/],
  ])("that %s is refused with its name and without its content", async (_, text, message) => {
    const { write } = kubeconfigFolder();
    const path = write("config", text);
    const error = await load(path).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: "KubeconfigError", message: expect.stringMatching(message) });
    expect(String(error)).toContain(path);
    expect(String(error)).not.toContain("secret-text");
  });

  test("that does not exist is refused with its name", async () => {
    await expect(load("/nonexistent/config")).rejects.toThrow("/nonexistent/config can't be read: ENOENT");
  });
});
