/** A response before serialization: JSON unless `text` is set, without a body if neither is. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return { status, body, headers };
}

export function message(status: number, text: string, detail?: string): Reply {
  return json(status, { message: text, ...(detail === undefined ? {} : { detail }) });
}

export function invalidField(field: string, text: string): Reply {
  return json(400, { message: text, validations: [{ field, detail: text }] });
}

/** coderd's validation error for empty required fields. */
export function required(...fields: string[]): Reply {
  const validations = fields.map((field) => ({
    field,
    detail: 'Validation failed for tag "required" with value: ""',
  }));
  return json(400, { message: "Validation failed.", validations });
}

export const notFound = message(404, "Resource not found or you do not have access to this resource");
export const routeNotFound = message(404, "Route not found.");
export const forbidden = message(
  403,
  "Forbidden.",
  "You don't have permission to view this content. If you believe this is a mistake, please contact your administrator or try signing in with different credentials.",
);

/** coderd's error for a missing permission in places where it does not expect one. */
export const rbacForbidden = message(
  500,
  "An internal server error occurred.",
  "unauthorized: rbac: forbidden",
);

export function signedOut(detail: string): Reply {
  return message(
    401,
    "You are signed out or your session has expired. Please sign in again to continue.",
    detail,
  );
}

/** The head and the body of a response as they are sent. */
export function wireForm({ status, body, text, headers }: Reply): {
  status: number;
  headers: Record<string, string>;
  body: string;
} {
  const isJson = body !== undefined;
  const contentType = isJson ? "application/json; charset=utf-8" : "text/plain; charset=utf-8";
  const withType = isJson || text ? { "Content-Type": contentType } : {};
  return { status, headers: { ...withType, ...headers }, body: isJson ? JSON.stringify(body) : (text ?? "") };
}

/** A response that is never completed. */
export const BEGUN_ANSWER = {
  status: 200,
  headers: { "Content-Type": "application/json; charset=utf-8", "Content-Length": "1000" },
  body: '{"has_',
};
