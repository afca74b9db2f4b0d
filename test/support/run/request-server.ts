import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the process of the run answers for its servers. */
    servers: string;
  }
}

/** Asks the process of the run for one of its servers, or to take something back. */
export async function askRun(method: "POST" | "DELETE", path: string): Promise<unknown> {
  const response = await fetch(`${inject("servers")}/${path}`, { method });
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return answer === "" ? undefined : JSON.parse(answer);
}
