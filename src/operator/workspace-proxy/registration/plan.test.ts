import { expect, test } from "vitest";
import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { WorkspaceProxy } from "../../../coder/model.ts";
import type { Registration } from "../spec.ts";
import { planRegistration, type RegistrationFacts } from "./plan.ts";

const coderURL = "https://coder.example.com";
const ourId = "8e0e4710-5c76-4ad1-b588-4ff9bea5998d";
const otherId = "13cd5dfa-d41a-496a-bb32-9212eb6f96dc";
const tokenOf = (id: string) => `${id}:${"5".repeat(64)}`;

const wanted: Registration = {
  proxyName: "sydney",
  displayName: "",
  icon: "",
  token: { name: "sydney-proxy-token", key: "token" },
};

const record = (id: string, changes: Partial<WorkspaceProxy> = {}): WorkspaceProxy => ({
  id,
  name: "sydney",
  displayName: "Sydney",
  icon: "/emojis/1f998.png",
  status: "ok",
  errors: [],
  ...changes,
});
const ours = record(ourId);
const theirs = record(otherId);
const renamed = record(ourId, { name: "au" });

const registered: WorkspaceProxyStatus = {
  registered: true,
  proxyID: ourId,
  proxyName: "sydney",
  coderURL,
};
/** Recorded before the registration. The only record if the process stops right afterwards. */
const claimed: WorkspaceProxyStatus = { registered: false, proxyName: "sydney", coderURL };
/** Record of earlier releases. */
const registeredEarlier: WorkspaceProxyStatus = { registered: true };

const good = { token: tokenOf(ourId), accepted: true };
const bad = { token: tokenOf(ourId), accepted: false };
const foreign = { token: tokenOf(otherId), accepted: true };

const keep = (own: WorkspaceProxy) => ({ do: "keep", record: own, token: good.token });
const update = (own: WorkspaceProxy) => ({ do: "update", record: own, token: good.token });
const register = { do: "register" };
const lost = { do: "regenerate", record: ours, because: "it was lost" };
const wrong = { do: "regenerate", record: ours, because: "coderd rejected the previous token" };

test.each<[string, Partial<RegistrationFacts>, object]>([
  ["coderd is asked before anything is decided", { records: undefined, kept: good }, { do: "ask" }],
  [
    "what coderd showed a moment ago still counts",
    { records: undefined, recent: ours, kept: good },
    keep(ours),
  ],
  ["without a token it does not", { records: undefined, recent: ours }, { do: "ask" }],

  ["a new proxy is registered", {}, register],
  ["proxies of other names do not matter", { records: [record(otherId, { name: "tokyo" })] }, register],
  [
    "one that is as it should be is kept",
    { recorded: registered, records: [ours, theirs], kept: good },
    keep(ours),
  ],
  ["a lost token is replaced", { recorded: registered, records: [ours] }, lost],
  ["a token that coderd refuses is replaced", { recorded: registered, records: [ours], kept: bad }, wrong],
  ["the token of another proxy is replaced", { recorded: registered, records: [ours], kept: foreign }, wrong],
  ["a proxy that coderd has lost is registered again", { recorded: registered, kept: bad }, register],

  ["the name is taken", { records: [theirs] }, { do: "refuse" }],
  [
    "the name is taken in other letters",
    { records: [record(otherId, { name: "Sydney" })] },
    { do: "refuse" },
  ],
  [
    "the name was taken after ours was deleted",
    { recorded: registered, records: [theirs], kept: bad },
    { do: "refuse" },
  ],
  [
    "a name that was claimed elsewhere is not claimed here",
    { recorded: { ...claimed, coderURL: "https://elsewhere" }, records: [theirs] },
    { do: "refuse" },
  ],
  ["a token that coderd refuses proves nothing", { records: [ours], kept: bad }, { do: "refuse" }],
  ["a token proves only its own proxy", { records: [ours], kept: foreign }, { do: "refuse" }],
  [
    "the token of a proxy of another name makes that none of ours",
    { recorded: registered, records: [record(otherId, { name: "tokyo" })], kept: foreign },
    register,
  ],
  [
    "a recreated proxy, with its token in the Secret, belongs to the object",
    { recorded: { ...registered, proxyID: otherId }, records: [ours], kept: good },
    keep(ours),
  ],

  ["a crash before coderd was asked", { recorded: claimed }, register],
  ["a crash before the token was stored", { recorded: claimed, records: [ours] }, lost],
  ["a crash before the id was noted", { recorded: claimed, records: [ours], kept: good }, keep(ours)],
  ["an object that was restored without its status", { records: [ours], kept: good }, keep(ours)],
  ["an earlier release's proxy", { recorded: registeredEarlier, records: [ours], kept: good }, keep(ours)],
  ["an earlier release's proxy without its token", { recorded: registeredEarlier, records: [ours] }, lost],

  [
    "coderd moved to another URL",
    { recorded: { ...registered, coderURL: "http://before" }, records: [ours], kept: good },
    keep(ours),
  ],
  ["another coderd", { recorded: { ...registered, coderURL: "http://before" }, kept: bad }, register],

  ["another name", { recorded: registered, records: [renamed], kept: good }, update(renamed)],
  [
    "other letters of the name",
    { recorded: registered, records: [record(ourId, { name: "Sydney" })], kept: good },
    update(record(ourId, { name: "Sydney" })),
  ],
  [
    "another name, which is taken",
    { recorded: registered, records: [renamed, theirs], kept: good },
    { do: "refuse", own: renamed },
  ],
  [
    "another name, and a crash before the id was noted",
    { recorded: { ...claimed, proxyName: "au" }, records: [renamed], kept: good },
    update(renamed),
  ],
  [
    "another display name",
    { wanted: { ...wanted, displayName: "Australia" }, recorded: registered, records: [ours], kept: good },
    update(ours),
  ],
  [
    "another icon",
    { wanted: { ...wanted, icon: "/emojis/1f1e6.png" }, recorded: registered, records: [ours], kept: good },
    update(ours),
  ],
  [
    "the display name and the icon that it has",
    {
      wanted: { ...wanted, displayName: "Sydney", icon: ours.icon },
      recorded: registered,
      records: [ours],
      kept: good,
    },
    keep(ours),
  ],
])("the plan to register a workspace proxy: %s", (_case, facts, expected) => {
  const none = { wanted, coderURL, recorded: {}, records: [], recent: undefined, kept: undefined };
  expect(planRegistration({ ...none, ...facts })).toEqual(expected);
});
