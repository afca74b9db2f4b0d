import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

/** An assistant that asks a server of the Model Context Protocol, which runs as a child process. */
export class Assistant implements AsyncDisposable {
  readonly #client = new Client({ name: "test", version: "1" });

  static async start(args: string[], env: Record<string, string>): Promise<Assistant> {
    const assistant = new Assistant();
    await assistant.#client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    return assistant;
  }

  /** What a tool answers, as text; an error too. */
  async ask(tool: string, inputs: Record<string, unknown>): Promise<string> {
    const answer = (await this.#client.callTool({ name: tool, arguments: inputs })) as CallToolResult;
    return answer.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}
