/** An error of the fake API server, with the `Status` body of a real one. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: number;
  /** Empty for a plain-text response. */
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** The `Status` object of a failure, for a response body or an `ERROR` event of a watch. */
export function statusOf({ code, reason, message }: Failure): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}

export function notFound(resource: string, name: string): Failure {
  return new Failure(404, "NotFound", `${resource} "${name}" not found`);
}

export function alreadyExists(resource: string, name: string): Failure {
  return new Failure(409, "AlreadyExists", `${resource} "${name}" already exists`);
}

export function conflict(resource: string, name: string, why: string): Failure {
  return new Failure(409, "Conflict", `Operation cannot be fulfilled on ${resource} "${name}": ${why}`);
}

export function invalid(what: string, why: string): Failure {
  return new Failure(422, "Invalid", `${what} is invalid: ${why}`);
}

export function badRequest(why: string): Failure {
  return new Failure(400, "BadRequest", why);
}

export function expired(why: string): Failure {
  return new Failure(410, "Expired", why);
}
