import { setTimeout as sleep } from "node:timers/promises";
import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../lab/postgres.ts";
import { type OperatorAccess, operatorAccess } from "../../src/coder/operator-access/access.ts";
import {
  acceptedAs,
  CONVERGED,
  converge,
  crashingAccess,
  outcomeOf,
  recordedAccess,
  StoredToken,
  targetOf,
} from "../support/operator-access.ts";
import { sharedPostgres } from "../support/shared-postgres.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

const postgres = sharedPostgres();
let clock: VirtualClock;
let access: OperatorAccess;
let store: StoredToken;
let database: Database;

beforeAll(async () => {
  database = await postgres.createDatabase("migrated");
});
afterAll(() => postgres.stop());

/** Resets the database, which is faster than creating another. */
beforeEach(async () => {
  for (const table of ["organization_members", "api_keys", "user_status_changes", "users"])
    await database.query(`DELETE FROM ${table}`);
  clock = new VirtualClock(Date.now());
  access = operatorAccess({ clock, fence: unfenced });
  store = new StoredToken();
});

const outcome = () => outcomeOf(database, store, clock);

describe("twenty at once", () => {
  it("make one user and one live token, and what is stored is always valid", async () => {
    let converging = true;
    const watch = async () => {
      let invalid = 0;
      for (; converging; await sleep(25)) {
        const { token } = store;
        const accepted = !token || (await acceptedAs(database, token, clock));
        if (!accepted && token === store.token) invalid++;
      }
      return invalid;
    };
    const watched = watch();
    const all = Array.from({ length: 20 }, () => converge(access, targetOf(database), store));
    await Promise.allSettled(all);
    converging = false;
    expect(await watched).toBe(0);
    await Promise.all(all);
    expect(await outcome()).toEqual(CONVERGED);
  });

  it("for two control planes make one user and one live token each", async () => {
    const second = new StoredToken();
    const other = targetOf(database, { controlPlane: { namespace: "dev", name: "coder", uid: "1" } });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 ? converge(access, other, second) : converge(access, targetOf(database), store),
      ),
    );
    const { keys, ...rest } = await outcome();
    expect(rest).toEqual({ ...CONVERGED, keys: undefined });
    expect(keys).toHaveLength(2);
    expect(await acceptedAs(database, second.token, clock)).toBe("coder-k8s-operator (owner)");
  });
});

describe("a process that dies", () => {
  /** More than both calls of a rotation have together. */
  const STATEMENTS = 20;
  const points = Array.from({ length: STATEMENTS }, (_, index) => index + 1).flatMap((statement) => [
    { statement, when: "before" as const },
    { statement, when: "after" as const },
  ]);

  it.each(points)(
    "on a fresh database $when statement $statement leaves one user and one token",
    async (point) => {
      await converge(crashingAccess(clock, point), targetOf(database), store).catch(() => undefined);
      await converge(access, targetOf(database), store);
      expect(await outcome()).toEqual(CONVERGED);
    },
  );

  it.each(points)(
    "during a rotation $when statement $statement never leaves the store invalid",
    async (point) => {
      await converge(access, targetOf(database), store);
      await clock.advance(336 * DAY_MS);
      await converge(crashingAccess(clock, point), targetOf(database), store).catch(() => undefined);
      expect(await acceptedAs(database, store.token, clock)).toBe("coder-k8s-operator (owner)");
      await converge(access, targetOf(database), store);
      expect(await outcome()).toEqual(CONVERGED);
    },
  );

  it("would be caught at every statement: a rotation has no more than were tried", async () => {
    await converge(access, targetOf(database), store);
    await clock.advance(336 * DAY_MS);
    const recorded = recordedAccess(clock);
    await converge(recorded.access, targetOf(database), store);
    expect(recorded.statements.length).toBeLessThanOrEqual(STATEMENTS);
  });
});
