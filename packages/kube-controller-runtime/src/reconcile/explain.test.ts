import { describe, expect, test } from "vitest";
import { AlreadyOwnedError, ApiError, NotLeaderError, Secret } from "../index.ts";
import { explain } from "./explain.ts";

const apiError = (reason: string, code: number, message = 'apply Secret "dev/token": the server\'s words') =>
  new ApiError(message, { reason, code });

describe("what an error means for the reader of a condition", () => {
  test("a foreign object is named with its owner, and checked again at a low rate", () => {
    const { reason, message, retryAfterMs } = explain(
      new AlreadyOwnedError([{ kind: Secret, ref: { name: "token" }, holder: 'StatefulSet "rival"' }]),
    );
    expect(reason).toBe("SecretNotOurs");
    expect(retryAfterMs).toBe(30_000);
    expect(message).toContain('StatefulSet "rival"');
  });

  test.each([
    ["Unreachable", 0, "ApiServerUnavailable"],
    ["InternalError", 500, "ApiServerUnavailable"],
    ["TooManyRequests", 429, "ApiServerUnavailable"],
    ["Invalid", 422, "Invalid"],
    ["Forbidden", 403, "Forbidden"],
    ["no word at all", 418, "ApiServerError"],
  ])("%s (%i) of the API server is %s, in its words", (reason, code, expected) => {
    const explained = explain(apiError(reason, code));
    expect(explained.reason).toBe(expected);
    expect(explained.message).toContain('Could not apply Secret "dev/token": the server\'s words.');
  });

  test("a list with duplicate entries is invalid, although the API server reports an internal error", () => {
    const words = 'failed to create typed patch object: .volumes: duplicate entries for key [name="a"]';
    const { reason, message } = explain(apiError("InternalError", 500, words));
    expect([reason, message]).toEqual(["Invalid", words]);
  });

  test("a refused grant names the rules that the operator lacks", () => {
    const words = `roles "coder" is forbidden: user "op" is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods/exec"], Verbs:["create"]}`;
    const { reason, message } = explain(apiError("Forbidden", 403, words));
    expect(reason).toBe("GrantRefused");
    expect(message).toContain(
      'add {APIGroups:[""], Resources:["pods/exec"], Verbs:["create"]} to its ClusterRole',
    );
  });

  test("lost leadership is nothing to worry about", () => {
    expect(explain(new NotLeaderError("apply not sent")).reason).toBe("LeadershipLost");
  });

  test.each([new TypeError("password is hunter2"), "hunter2", undefined])(
    "other thrown values are not quoted: %s",
    (error) => {
      const { reason, message } = explain(error);
      expect(reason).toBe("InternalError");
      expect(message).not.toContain("hunter2");
    },
  );
});
