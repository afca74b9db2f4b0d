import { expect, test } from "vitest";
import { Secrets, textOfError } from "./leaks.ts";

const secret = "p@ss w0rd/of-mine";
const secrets = new Secrets();
secrets.add(`${secret}\n`, "short");

test.each([
  ["as it is", `FATAL: ${secret} refused`],
  ["in a URL", `postgres://me:${encodeURIComponent(secret)}@db`],
  ["in base64", Buffer.from(secret).toString("base64")],
  ["in a message of an error", textOfError(new Error(secret))],
  [
    "in a cause of a cause",
    textOfError(new Error("a", { cause: new Error("b", { cause: new Error(secret) }) })),
  ],
  ["in one of several errors", textOfError(new AggregateError([new Error("a"), new Error(secret)]))],
  ["in a field of an error", textOfError(Object.assign(new Error("a"), { detail: secret }))],
])("a secret is found %s, and named without being shown", (_, text) => {
  const found = secrets.foundIn(text);
  expect(found).toEqual(["p@ss… (17 characters)"]);
});

test("nothing is found in a clean text, and a value that is too short is not searched for", () => {
  expect(secrets.size).toBe(1);
  expect(secrets.foundIn("a short p@ss")).toEqual([]);
});

test("the password of a URL is a secret by itself", () => {
  const urls = new Secrets();
  urls.add("postgres://me:p%40ssword-of-mine@db:5432/coder");
  expect(urls.foundIn("FATAL: p@ssword-of-mine is wrong")).toHaveLength(1);
});
