import { expect, test } from "vitest";
import { describeDatabaseError } from "./failure.ts";

const withCode = (code: string) => Object.assign(new Error("from a server"), { code });

test.for(["constructor", "__proto__", "toString", "hasOwnProperty"])(
  "the SQLSTATE %s, which no database has, is a failure like any unknown one",
  (code) => {
    const message = `The database reports an error (${code}); check its log.`;
    expect(describeDatabaseError(withCode(code))).toEqual({ kind: "transient", message });
  },
);

test.for([
  ["28P01", "authenticationFailed", "rejects the user or the password"],
  ["28000", "authenticationFailed", "rejects the login"],
  ["3D000", "databaseMissing", "does not exist"],
  ["42501", "permissionDenied", "lacks a permission: from a server."],
  ["57014", "timeout", "timed out"],
  ["25006", "transient", "read-only"],
])("the SQLSTATE %s is %s: %s", ([code = "", kind, says]) => {
  expect(describeDatabaseError(withCode(code))).toEqual({
    kind,
    message: expect.stringContaining(says ?? ""),
  });
});

test.for([
  "x".repeat(100_000),
  "CERT_postgres://u:hunter2@db/coder",
  "eyJhbGciOiJub25lIn0.eyJqdGkiOiJ4In0.bWFya2Vk",
  "two words",
])("an invalid SQLSTATE is not shown", (code) => {
  const { message } = describeDatabaseError(withCode(code));
  expect(message).not.toContain(code);
  expect(message).toContain("unknown error");
});

test("the code of a certificate problem is shown", () => {
  const failure = describeDatabaseError(withCode("CERT_HAS_EXPIRED"));
  expect(failure).toMatchObject({
    kind: "tlsFailed",
    message: expect.stringContaining("(CERT_HAS_EXPIRED)"),
  });
});
