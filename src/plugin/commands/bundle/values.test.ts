import type { Secret, Stored } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { plainValuesOf, valuesOf } from "./values.ts";

const metadata = { name: "a", namespace: "dev", uid: "1", resourceVersion: "1" };
const secret = (data: Record<string, string>): Stored<Secret> => ({
  metadata,
  data: Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  ),
});

test("the password of a connection URL is a secret by itself, as written and as meant", () => {
  const url = "postgres://coder:p%40ssw0rd@db/coder";
  expect(valuesOf([secret({ url })])).toEqual([url, "p%40ssw0rd", "p@ssw0rd"]);
  expect(valuesOf([secret({ dsn: "host=db password=hunter22" })])).toContain("hunter22");
});

test("what logs in at a registry is a secret by itself", () => {
  const login = { username: "robot", password: "of-the-registry", auth: "cm9ib3Q6b2Y=" };
  const text = JSON.stringify({ auths: { "registry.example.com": login } });
  expect(valuesOf([secret({ ".dockerconfigjson": text })])).toEqual([
    text,
    "of-the-registry",
    "cm9ib3Q6b2Y=",
  ]);
});

test("variables and flags in plain text are secrets where their names say so or their values have a password", () => {
  const spec = {
    extraEnv: [
      { name: "CODER_OIDC_CLIENT_SECRET", value: "of-a-variable" },
      { name: "CODER_VERBOSE", value: "not-this" },
      { name: "HTTPS_PROXY", value: "http://me:of-a-proxy@proxy:3128" },
    ],
    extraArgs: ["--oauth2-github-client-secret=of-a-flag", "--verbose=not-this"],
  };
  const map = { metadata, data: { CODER_EXTERNAL_AUTH_0_CLIENT_SECRET: "of-a-map", B: "not-this" } };
  const found = plainValuesOf([{ metadata, spec } as Parameters<typeof plainValuesOf>[0][number]], [map]);
  expect(new Set(found)).toEqual(new Set(["of-a-variable", "of-a-proxy", "of-a-flag", "of-a-map"]));
});
