import { readFile } from "node:fs/promises";
import { request } from "node:https";

const TIMEOUT_MS = 10_000;

/** Where an API server is and who asks. */
export interface ApiEndpoint {
  readonly server: string;
  readonly caFile: string;
  readonly token: string;
}

/** One plain request of the test harness itself, which must not lean on the client under test. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly body?: object;
  /** Whom to be instead; everybody who is signed in has a group of their own. */
  readonly as?: string;
  /** Of the body, when it is no plain JSON or merge patch. */
  readonly contentType?: string;
}

/** What the API server said; a warning is one that kubectl would show. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  readonly warning?: string | undefined;
}

/** Sends the request and returns the answer; it fails only when there is none. */
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
        this.destroy(new Error(`${method} ${path}: no answer within ${TIMEOUT_MS} ms`));
      })
      .end(body && JSON.stringify(body));
  });
}

/** Sends the request and returns the object in the answer; anything but success is an error. */
export async function apiObject<T>(endpoint: ApiEndpoint, wanted: ApiRequest): Promise<T> {
  const { status, text } = await apiRequest(endpoint, wanted);
  if (status >= 300) throw new Error(`${wanted.method} ${wanted.path}: ${status} ${text}`);
  return JSON.parse(text) as T;
}
