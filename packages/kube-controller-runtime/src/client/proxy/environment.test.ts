import { describe, expect, test } from "vitest";
import { proxyFromEnvironment } from "./environment.ts";

const HTTPS_PROXY = "http://secure:1";
const HTTP_PROXY = "http://plain:2";

function hostFor(server: string, env: NodeJS.ProcessEnv): string | undefined {
  return proxyFromEnvironment(new URL(server), env)?.host;
}

describe("the environment names a proxy", () => {
  test.each<[string, NodeJS.ProcessEnv, string | undefined]>([
    ["https://api", { HTTPS_PROXY, HTTP_PROXY }, "secure"],
    ["http://api", { HTTPS_PROXY, HTTP_PROXY }, "plain"],
    ["https://api", { HTTP_PROXY, ALL_PROXY: "http://all:3" }, undefined],
    ["https://api", { https_proxy: HTTPS_PROXY }, "secure"],
    ["https://api", { HTTPS_PROXY, https_proxy: "http://lower:1" }, "secure"],
    ["https://api", { HTTPS_PROXY: "" }, undefined],
    ["https://api", { HTTPS_PROXY: "bare:3128" }, "bare"],
    ["https://api", { HTTPS_PROXY: "[fd00::1]:3128" }, "fd00::1"],
    ["https://localhost:6443", { HTTPS_PROXY }, undefined],
    ["https://127.0.0.5:6443", { HTTPS_PROXY }, undefined],
    ["https://[::1]:6443", { HTTPS_PROXY }, undefined],
    ["https://[::ffff:127.0.0.1]", { HTTPS_PROXY }, undefined],
    ["https://sub.localhost", { HTTPS_PROXY }, "secure"],
  ])("for %s with %o: %s", (server, env, host) => {
    expect(hostFor(server, env)).toBe(host);
  });

  test("that can't be used is refused by its variable, without its password", () => {
    const env = { HTTPS_PROXY: "socks5://me:s3cr3t@proxy" };
    expect(() => hostFor("https://api", env)).toThrow(/^HTTPS_PROXY must start with http:\/\/ or https:\/\//);
    expect(() => hostFor("https://api", env)).not.toThrow(/s3cr3t/);
  });
});

describe("NO_PROXY", () => {
  test.each<[list: string, server: string, exempt: boolean]>([
    ["*", "https://api", true],
    ["example.com", "https://example.com", true],
    ["example.com", "https://API.Example.com", true],
    ["EXAMPLE.com", "https://api.example.com", true],
    ["example.com", "https://notexample.com", false],
    [".example.com", "https://api.example.com", true],
    [".example.com", "https://example.com", false],
    ["*.example.com", "https://a.b.example.com", true],
    ["*.example.com", "https://example.com", false],
    ["example.com:6443", "https://api.example.com:6443", true],
    ["example.com:6443", "https://api.example.com", false],
    ["example.com:443", "https://api.example.com", true],
    ["example.com:80", "http://api.example.com", true],
    ["a.com, ,example.com ", "https://example.com", true],
    ["10.0.0.1", "https://10.0.0.1:6443", true],
    ["10.0.0.1:6443", "https://10.0.0.1:6443", true],
    ["10.0.0.1:443", "https://10.0.0.1:6443", false],
    ["10.0.0.0/8", "https://10.96.0.1", true],
    ["10.0.0.0/8", "https://11.0.0.1", false],
    ["10.0.0.0/8", "https://10.0.0.1.example.com", false],
    ["10.0.0.0/99", "https://10.0.0.1", false],
    ["fd00::/8", "https://[fd12::1]:6443", true],
    ["fd00::/8", "https://[fe80::1]", false],
    ["fd00::/8", "https://10.0.0.1", false],
    ["fd00::1", "https://[fd00:0::1]", true],
    ["[fd00::1]:6443", "https://[fd00::1]:6443", true],
    ["[fd00::1]:443", "https://[fd00::1]:6443", false],
    [":443", "https://api", false],
    ["0", "https://10.0.0.0", false],
    ["[fd00::1]", "https://[fd00::1]", false],
    ["10.0.0.0/8", "https://[::ffff:10.0.0.1]", true],
    ["::ffff:10.0.0.1", "https://10.0.0.1", true],
    ["", "https://api", false],
  ])("%j and %s: %s", (list, server, exempt) => {
    const proxies = { HTTPS_PROXY, HTTP_PROXY };
    expect(hostFor(server, { ...proxies, NO_PROXY: list }) === undefined).toBe(exempt);
    expect(hostFor(server, { ...proxies, no_proxy: list }) === undefined).toBe(exempt);
  });
});
