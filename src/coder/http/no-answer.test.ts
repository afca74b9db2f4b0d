import { describe, expect, it } from "vitest";
import { NoAnswer } from "./no-answer.ts";

function error(code: string): Error {
  return Object.assign(new Error("may quote a secret"), { code });
}

describe("a request without an answer", () => {
  it.each([
    ["UND_ERR_CONNECT_TIMEOUT", "the connection timed out"],
    ["ECONNREFUSED", "connection refused"],
    ["EAI_AGAIN", "the DNS lookup of the host name failed"],
    ["EHOSTUNREACH", "no route to the host"],
    ["ECONNRESET", "the connection was interrupted"],
    ["CERT_NOT_YET_VALID", "TLS failed: its certificate is not valid yet (CERT_NOT_YET_VALID)"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS failed (ERR_SSL_WRONG_VERSION_NUMBER)"],
    ["EWHATEVER", "no response (EWHATEVER)"],
  ])("is worded by its code %s alone", (code, message) => {
    expect(NoAnswer.from(error(code)).message).toBe(message);
  });

  it("is worded by the first address when several were tried, and by its cause when it is only a wrapper", () => {
    const several = new AggregateError([error("ECONNREFUSED"), error("EHOSTUNREACH")]);
    expect(NoAnswer.from(several).message).toBe("connection refused");
    const wrapped = new TypeError("fetch failed", { cause: error("ENOTFOUND") });
    expect(NoAnswer.from(wrapped).message).toBe("the host name does not resolve");
  });

  it("keeps what happened as its cause", () => {
    const cause = error("ECONNRESET");
    expect(NoAnswer.from(cause).cause).toBe(cause);
  });
});
