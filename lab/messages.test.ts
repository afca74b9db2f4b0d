import { expect, test } from "vitest";
import { messagesIn } from "./messages.ts";

const signal = new AbortController().signal;

function request(method: "POST" | "PATCH", path: string, body: object) {
  return { method, path, headers: {}, body: JSON.stringify(body), signal };
}

test("a status write gives the messages of its conditions, without names, addresses and times", () => {
  const path = "/apis/coder.com/v1alpha1/namespaces/dev-1/codercontrolplanes/coder/status?fieldManager=x";
  const message = 'Secret "db" in dev-1 is at http://coder.dev-1.svc:80 until 2026-01-01T00:00:00Z, 3 times.';
  const conditions = [{ type: "ServiceReady", status: "False", reason: "SecretMissing", message }];
  expect(messagesIn([request("PATCH", path, { status: { conditions } })])).toEqual([
    {
      kind: "CoderControlPlane",
      condition: "ServiceReady",
      status: "False",
      reason: "SecretMissing",
      message: 'Secret "…" in <namespace> is at <url> until <time>, <n> times.',
    },
  ]);
});

test("an event about one of our objects gives its message, and other requests give none", () => {
  const event = { type: "Normal", reason: "Created", message: "Made 2 keys." };
  const path = "/api/v1/namespaces/dev-1/events";
  const ours = { ...event, involvedObject: { kind: "CoderProvisioner" } };
  const foreign = { ...event, involvedObject: { kind: "Pod" } };
  const secret = request("POST", "/api/v1/namespaces/dev-1/secrets", { data: {} });
  expect(messagesIn([request("POST", path, ours), request("POST", path, foreign), secret])).toEqual([
    { kind: "CoderProvisioner", status: "Normal", reason: "Created", message: "Made <n> keys." },
  ]);
});
