import { globSync, readFileSync } from "node:fs";
import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { readPins as coderPins } from "../../tools/coder/pins.ts";
import { releaseOf } from "../../tools/prometheus/binaries.ts";
import { pages, repository } from "./pages.ts";

/** Everything that shows people a connection URL. */
const texts = [
  ...pages,
  ...[
    "charts/coder-k8s/templates/NOTES.txt",
    ...globSync("{examples,config/samples}/*.yaml", { cwd: repository }),
  ].map((path) => ({ path, text: read(path) })),
];

/** A file of the repository, with a word in the place of what a template puts in. */
function read(path: string): string {
  return readFileSync(repository + path, "utf8").replaceAll(/\{\{.*?\}\}/g, "example");
}

const urls = texts.flatMap(({ path, text }) =>
  [...text.matchAll(/postgres(?:ql)?:\/\/[^@\s]+@([^:/\s]+)[^\s'"]*(?:\n# +\?\S+)?/g)].map(
    ([url, host = ""]) => ({
      path,
      url: url.replaceAll(/\n# +/g, ""),
      host,
    }),
  ),
);

describe("connection URLs that are shown", () => {
  test("are there at all", () => {
    expect(urls.length).toBeGreaterThan(4);
  });

  test.for(urls)("$path: $host is a full name, which the operator finds from its namespace", ({ host }) => {
    expect(host).toMatch(/^HOST$|\./);
  });

  test.for(urls)(
    "$path: $url says which sslmode, because coderd and the operator assume different ones",
    ({ url }) => {
      expect(url).toMatch(/[?&]sslmode=(disable|require|verify-full)/);
    },
  );
});

test("the page for security teams names the ports that lockdown opens", () => {
  const template = read("charts/coder-k8s/templates/networkpolicy.yaml");
  const opened = new Set([...template.matchAll(/port: (\d+)/g)].map(([, port]) => Number(port)));
  const text = pages.find(({ path }) => path === "docs/how-to/verify.md")?.text ?? "";
  const said = /The ports are those on which pods listen: ([^.]*)\./.exec(text)?.[1] ?? "";
  expect(new Set(said.match(/\d+/g)?.map(Number))).toEqual(opened);
  expect([...opened]).toEqual(expect.arrayContaining([53, 6443, 8080, 8443, 5432]));
});

describe("the page of versions", () => {
  const text = pages.find(({ path }) => path === "docs/versions.md")?.text ?? "";
  const row = (program: string) => text.split("\n").find((line) => line.startsWith(`| ${program} |`));
  const pinned = (file: string, module: string) =>
    new RegExp(`^\\s*(?:require )?${module.replaceAll(".", "\\.")} v(\\S+)`, "m").exec(read(file))?.[1];

  const coderVersion = (name: "coder" | "coder-old") =>
    coderPins(currentPlatform()).binaries[name].version.replace(/^v/, "");

  test.for([
    ["Kubernetes", pinned("packages/kube-controller-runtime/testing/kube/go.mod", "k8s.io/kubernetes")],
    [
      "Kubernetes, the oldest",
      pinned("packages/kube-controller-runtime/testing/kube/1.30/go.mod", "k8s.io/kubernetes"),
    ],
    ["Helm", pinned("tools/helm/go.mod", "helm.sh/helm/v4")],
    ["Prometheus", releaseOf(`v${pinned("tools/prometheus/go.mod", "github.com/prometheus/prometheus")}`)],
    ["Coder", coderVersion("coder")],
    ["Coder, an old one", coderVersion("coder-old")],
    ["Node.js", /\d+/.exec(manifest.engines.node)?.[0]],
  ] as const)("names the %s that the tests run", ([program, version]) => {
    expect(version).toBeDefined();
    expect(row(program)).toContain(`| ${version} |`);
  });

  test("names the Gateway API that the tests install", () => {
    const [, version] =
      /bundle-version: v(\S+)/.exec(read("test/fixtures/gateway-api-httproutes.yaml")) ?? [];
    expect(row("Gateway API")).toContain(`| ${version} |`);
  });
});
