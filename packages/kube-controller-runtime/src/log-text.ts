const LEVEL_WIDTH = "error".length;

/**
 * A JSON line of the log as a person reads it: `<time> <LEVEL> <message> key=value …`. Always one line; a text with
 * anything but letters, digits and common punctuation in it is quoted as JSON quotes it.
 */
export function logText(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<"level" | "time" | "msg", string>;
  const facts = Object.entries(fields).map(([name, value]) => ` ${name}=${valueText(value)}`);
  return `${time} ${level.toUpperCase().padEnd(LEVEL_WIDTH)} ${oneLine(msg)}${facts.join("")}\n`;
}

function valueText(value: unknown): string {
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function oneLine(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\");
}
