interface KnownEnd {
  readonly says: RegExp;
  readonly advice: (...found: readonly string[]) => string;
}

/** What coderd writes last before it ends, where that alone does not tell a person what to change. */
const KNOWN_ENDS: readonly KnownEnd[] = [
  {
    says: /AI provider "([^"]{1,128})" already exists in the database and differs/,
    advice: (name) =>
      `Variables CODER_AI_GATEWAY_* and CODER_AIBRIDGE_* only seed the database, where AI provider "${name}" now differs; remove its variables from spec.extraEnv, or make them match the database.`,
  },
  {
    says: /seed ai providers from env:/,
    advice: () => "Correct the variables CODER_AI_GATEWAY_* and CODER_AIBRIDGE_* in spec.extraEnv.",
  },
];

/** What to do about the end of a container that wrote this last. */
export function adviceOn(lastLine: string): string | undefined {
  for (const { says, advice } of KNOWN_ENDS) {
    const [found, ...groups] = says.exec(lastLine) ?? [];
    if (found !== undefined) return advice(...groups);
  }
  return undefined;
}
