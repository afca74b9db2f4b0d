import { expect, test } from "vitest";
import { messagesOn, messagesPage } from "./page.ts";
import { patternOf, textsOf } from "./texts.ts";

const source = `
  const problem = (name: string) => \`Secret "\${name}" has no key "url"; add it within \${limit(name)} s.\`;
  const part = "the daemons are connected";
  log.warn("provisioner key was left behind");
  type Kind = "Secret";
`;

test("the sentences of a module are found, with marks for what differs", () => {
  const texts = textsOf(source, "a.ts");
  expect(texts.filter(({ isWhole }) => isWhole)).toEqual([
    { file: "a.ts", text: 'Secret "…" has no key "…"; add it within … s.', isWhole: true },
  ]);
  expect(texts.map(({ text }) => text)).toContain("the daemons are connected");
});

const shown = 'Secret "…" has no key "…"; add it within <n> s.';
const texts = textsOf(source, "a.ts");
const messages = [
  { kind: "CoderProvisioner", condition: "Ready", status: "False", reason: "SecretMissing", message: shown },
];
const page = messagesPage({ messages, texts, refusals: new Map() });

test("a message is recognised by the sentence that it was made of", () => {
  expect(texts.some((text) => patternOf(text).test(shown))).toBe(true);
  expect(messagesOn(page, texts)).toEqual(messages);
});

test("a message whose sentence has left the sources leaves the page, and a new sentence joins it", () => {
  const changed = textsOf('const m = "Secrets need a key now; add one.";', "a.ts");
  expect(messagesOn(page, changed)).toEqual([]);
  expect(messagesPage({ messages: [], texts: changed, refusals: new Map() })).toContain(
    "- Secrets need a key now; add one.",
  );
});

test("a message made of parts stays as long as they make up most of it, and not for one that it shares", () => {
  const parts = textsOf(`const m = ['pod "…" is not ready', "and the daemons are connected"];`, "a.ts");
  const rows = [
    'pod "…" is not ready, and the daemons are connected',
    "Once, the daemons are connected, all is well with coderd.",
  ];
  const both = rows.map((message) => ({ ...messages[0], message })) as typeof messages;
  const kept = messagesOn(messagesPage({ messages: both, texts: parts, refusals: new Map() }), [
    ...parts,
    ...texts,
  ]);
  expect(kept.map(({ message }) => message)).toEqual(rows.slice(0, 1));
});
