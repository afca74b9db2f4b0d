import { readFile } from "node:fs/promises";
import { request } from "node:https";

const TIMEOUT_MS = 10_000;

/** The address of an API server and the credentials. */
export interface ApiEndpoint {
  readonly server: string;
  readonly caFile: string;
  readonly token: string;
}

/** A request of the test harness, which must not depend on the client under test. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly body?: object;
  /** The user to impersonate; every authenticated user is in the same group. */
  readonly as?: string;
  /** The content type, if it is not JSON or a merge patch. */
  readonly contentType?: string;
}

/** The response of the API server; kubectl would print the warnings. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  readonly warning?: string | undefined;
}

/** Sends the request and returns the response; throws only if there is none. */
export async function apiRequest(
  { server, caFile, token }: ApiEndpoint,
  { method, path, body, as, contentType }: ApiRequest,
): Promise<ApiAnswer> {
  const ca = await readFile(caFile);
  const usual = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": contentType ?? usual,
    ...(as ? { "impersonate-user": as, "impersonate-group": "system:authenticated" } : {}),
  };
  return new Promise((resolve, reject) => {
    request(`${server}${path}`, { method, headers, ca, agent: false, timeout: TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          warning: response.headers.warning,
        }),
      );
    })
      .on("error", reject)
      .on("timeout", function (this: { destroy(error: Error): void }) {
        this.destroy(new Error(`${method} ${path}: no response within ${TIMEOUT_MS} ms`));
      })
      .end(body && JSON.stringify(body));
  });
}

/** Sends the request and returns the object in the response; throws on any error status. */
export async function apiObject<T>(endpoint: ApiEndpoint, wanted: ApiRequest): Promise<T> {
  const { status, text } = await apiRequest(endpoint, wanted);
  if (status >= 300) throw new Error(`${wanted.method} ${wanted.path}: ${status} ${text}`);
  return JSON.parse(text) as T;
}
