import { stringify, type ToStringOptions } from "yaml";
import { escaped } from "./text.ts";

/**
 * YAML that a terminal can show: text that would move the cursor, or would lose trailing blanks, is escaped.
 */
export function yamlText(data: unknown): string {
  const written = (options: ToStringOptions) =>
    stringify(data, { lineWidth: 0, aliasDuplicateObjects: false, ...options });
  const text = written({ blockQuote: "literal" });
  if (escaped(text) === text && !/[ \t]$/m.test(text)) return text;
  // Only double quotes have escapes.
  return escaped(written({ blockQuote: false, defaultStringType: "QUOTE_DOUBLE" }));
}
