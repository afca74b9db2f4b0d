import type { Secret, Stored } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { Gaps } from "../../gaps.ts";
import { valuesOf } from "./values.ts";

const found = (secrets: readonly Stored<Secret>[], gaps = new Gaps()) => valuesOf(secrets, gaps);
const metadata = { name: "a", namespace: "dev", uid: "1", resourceVersion: "1" };
const secret = (data: Record<string, string>): Stored<Secret> => ({
  metadata,
  data: Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  ),
});

test("the password of a connection URL is a secret by itself, encoded and decoded", () => {
  const url = "postgres://coder:p%40ssw0rd@db/coder";
  expect(found([secret({ url })])).toEqual([url, "p%40ssw0rd", "p@ssw0rd"]);
  expect(found([secret({ dsn: "host=db password=hunter22" })])).toContain("hunter22");
});

test("the credentials of a registry are secrets by themselves", () => {
  const login = { username: "robot", password: "of-the-registry", auth: "cm9ib3Q6b2Y=" };
  const text = JSON.stringify({ auths: { "registry.example.com": login } });
  expect(found([secret({ ".dockerconfigjson": text })])).toEqual([text, "of-the-registry", "cm9ib3Q6b2Y="]);
});

test.each([
  ["can't be unpacked", "no release"],
  ["is nested without end", `{"config":${"[".repeat(200_000)}${"]".repeat(200_000)}}`],
])("a Helm release that %s is a line without what it has in it, and costs no other Secret", (_, content) => {
  const gaps = new Gaps();
  const release = secret({ release: Buffer.from(content).toString("base64") });
  const secrets = [{ ...release, type: "helm.sh/release.v1" }, secret({ token: "of-another" })];
  expect(found(secrets, gaps)).toEqual(["of-another"]);
  expect(gaps.lines).toEqual([
    `Could not read the Helm release in Secret "dev/a": its values can't be redacted.`,
  ]);
});
