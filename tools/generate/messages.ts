import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { messagesOn, messagesPage } from "../messages/page.ts";
import { textsIn } from "../messages/texts.ts";
import { customResourceDefinition } from "./crd.ts";
import { resources } from "./inputs.ts";
import type { definitionsOf } from "./kubernetes.ts";
import { admissionPolicies } from "./policy.ts";

/** The page of messages: what tests saw, as the page has it already, and all other sentences of the sources. */
export function messagesReference(definitions: ReturnType<typeof definitionsOf>): string {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const texts = textsIn(root);
  const messages = messagesOn(readFileSync(`${root}docs/reference/messages.md`, "utf8"), texts);
  const refusals = new Map<string, readonly string[]>(
    resources.map((resource) => [
      `a ${resource.kind.kind}`,
      answersIn(customResourceDefinition(resource, definitions)),
    ]),
  );
  refusals.set("what its author may not do", answersIn(admissionPolicies()));
  return messagesPage({ messages, texts, refusals });
}

/** The messages of all validations in an object, at any depth. */
function answersIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { rule, expression, message, messageExpression } = value as Record<string, unknown>;
  const isValidation = typeof rule === "string" || typeof expression === "string";
  const own = isValidation ? [message, messageExpression && spoken(String(messageExpression))] : [];
  const said = own.filter((text): text is string => typeof text === "string");
  return [...said, ...Object.values(value).flatMap(answersIn)];
}

/** What an expression in CEL says, with `…` for what it computes. */
function spoken(expression: string): string {
  return expression.replaceAll(/' \+ .*?( \+ '|$)/g, "…").replaceAll(/^'|'$/g, "");
}
