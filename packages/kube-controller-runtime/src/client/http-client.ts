import type { Clock } from "../clock.ts";
import { NotLeaderError, RunTimeoutError } from "../errors.ts";
import type { Fence } from "../fence.ts";
import { type Kind, type KubeObject, type ObjectRef, refOf, type Stored } from "../object.ts";
import { isBug } from "../redact/fields.ts";
import { redactText } from "../redact/redactor.ts";
import {
  type Call,
  createCall,
  deleteCall,
  getCall,
  listCall,
  type Patch,
  patchCall,
  type WriteMode,
  watchCall,
} from "./calls.ts";
import type {
  Client,
  DeleteOptions,
  FenceableClient,
  JsonPatchOperation,
  ListOptions,
  Page,
  WatchEvent,
  WatchOptions,
} from "./client.ts";
import { ApiError, isNotFound } from "./error.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import { errorFromResponse, readText } from "./response.ts";
import { Throttle, type Waiting } from "./throttle.ts";
import type { Transport, TransportResponse } from "./transport.ts";
import { failWhenSilent, watchEvents } from "./watch-stream.ts";

/** The dependencies of a client. */
export interface HttpClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** The field manager of writes. */
  readonly fieldManager: string;
  readonly userAgent: string;
  readonly timeoutMs?: number;
  /** Maximum wait when the server asks for a pause; shorter for urgent requests, such as for a Lease. */
  readonly maxPauseMs?: number;
  /** Called after every request. */
  readonly onRequest?: (request: FinishedRequest) => void;
}

/** A request to the API server that got a response, or failed. */
export interface FinishedRequest {
  readonly verb: string;
  /** `deployments.apps`; never the name of an object. */
  readonly resource: string;
  /** The HTTP status code; 0 if there was no response. */
  readonly code: number;
  /**
   * The time until the response began, without pauses that the server asked for: for a watch, the time to
   * open it.
   */
  readonly durationMs: number;
}

interface ListBody<T extends KubeObject> {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: Stored<T>[] | null;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * The `Client` that speaks HTTP to an API server through a transport. It handles transient problems within
 * the deadline of a request: it waits if the server asks for a pause, and retries a broken connection once if
 * that is safe.
 */
export class HttpClient implements FenceableClient {
  readonly #options: HttpClientOptions & { readonly timeoutMs: number };
  #throttle: Throttle;
  #fence: Fence | undefined;
  #dryRun = false;

  constructor(options: HttpClientOptions) {
    this.#options = { ...options, timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS };
    this.#throttle = new Throttle(options.clock, options.maxPauseMs);
  }

  fencedBy(fence: Fence): Client {
    return this.#with({ fence });
  }

  dryRun(): FenceableClient {
    return this.#with({ dryRun: true });
  }

  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): Promise<Stored<T>> {
    return this.#send(getCall(kind, ref));
  }

  async list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<Page<T>> {
    const call = listCall(kind, options);
    const { items: listed, metadata } = await this.#send<ListBody<T>>(call);
    // Kubernetes 1.30 returns null for a metadata list without objects.
    const items = listed === null ? [] : listed;
    if (!Array.isArray(items) || !metadata?.resourceVersion) {
      throw new ApiError(`${call.what}: the response is not a list`, { reason: "InvalidResponse", code: 0 });
    }
    return {
      items,
      resourceVersion: metadata.resourceVersion,
      continueToken: metadata.continue || undefined,
    };
  }

  async *watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const call = watchCall(kind, options);
    const abort = new AbortController();
    const signal = options.signal ? AbortSignal.any([abort.signal, options.signal]) : abort.signal;
    try {
      const response = await this.#withDeadline(call, abort, async (until) => {
        await this.#throttle.pass({ what: call.what, until, signal });
        return this.#open(call, signal);
      });
      yield* failWhenSilent(watchEvents<T>(response.body), {
        clock: this.#options.clock,
        limitMs: options.idleTimeoutMs,
        abort: (reason) => abort.abort(reason),
      });
    } catch (error) {
      this.#throttle.isAskedFor(error);
      throw asApiError(call.what, error, signal);
    } finally {
      abort.abort();
    }
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<Stored<T>> {
    return this.#send(createCall(kind, object, this.#mode));
  }

  apply<T extends KubeObject>(kind: Kind<T>, object: T): Promise<Stored<T>> {
    return this.#patch(kind, refOf(object), { type: "apply", body: object });
  }

  mergePatch<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object): Promise<Stored<T>> {
    return this.#patch(kind, ref, { type: "merge", body: patch });
  }

  jsonPatch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
  ): Promise<Stored<T>> {
    return this.#patch(kind, ref, { type: "json", body: operations });
  }

  patchStatus<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object): Promise<Stored<T>> {
    return this.#patch(kind, ref, { type: "merge", body: patch, subresource: "status" });
  }

  async delete<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    options: DeleteOptions = {},
  ): Promise<Stored<T> | undefined> {
    try {
      const answer = await this.#send<KubeObject>(deleteCall(kind, ref, { ...options, ...this.#mode }));
      return answer.kind !== "Status" && remains(answer) ? (answer as Stored<T>) : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    patch: Omit<Patch, "mode">,
  ): Promise<Stored<T>> {
    return this.#send(patchCall(kind, ref, { ...patch, mode: this.#mode }));
  }

  get #mode(): WriteMode {
    return { fieldManager: this.#options.fieldManager, dryRun: this.#dryRun };
  }

  /** Another view of the same client: pauses that the server asks for apply to all views. */
  #with({ fence = this.#fence, dryRun = this.#dryRun }: { fence?: Fence | undefined; dryRun?: boolean }) {
    const view = new HttpClient(this.#options);
    view.#fence = fence;
    view.#dryRun = dryRun;
    view.#throttle = this.#throttle;
    return view;
  }

  /** Sends a call and reads its whole response within the deadline. */
  async #send<R>(call: Call): Promise<R> {
    const deadline = new AbortController();
    const signal = call.signal ? AbortSignal.any([call.signal, deadline.signal]) : deadline.signal;
    try {
      const text = await this.#withDeadline(call, deadline, (until) =>
        this.#exchange(call, { what: call.what, until, signal }),
      );
      return parseBody<R>(call.what, text);
    } catch (error) {
      throw asApiError(call.what, error, signal);
    }
  }

  async #exchange(call: Call, waiting: Waiting): Promise<string> {
    let brokeBefore = false;
    for (;;) {
      await this.#throttle.pass(waiting);
      try {
        const { body } = await this.#open(call, waiting.signal);
        return await readText(body);
      } catch (error) {
        if (!call.ownRefusal && this.#throttle.isAskedFor(error)) {
          if (!this.#throttle.opensBefore(waiting.until)) throw error;
        } else {
          if (!isBroken(error) || !call.repeatable || brokeBefore || waiting.signal.aborted) throw error;
          brokeBefore = true;
        }
      }
    }
  }

  async #withDeadline<R>(
    call: Call,
    deadline: AbortController,
    work: (until: number) => Promise<R>,
  ): Promise<R> {
    const { clock, timeoutMs } = this.#options;
    const message = `${call.what}: no response within ${timeoutMs} ms`;
    const expire = () => deadline.abort(new ApiError(message, { reason: "Timeout", code: 0 }));
    const cancel = clock.setTimer(expire, timeoutMs);
    try {
      return await work(clock.monotonic() + timeoutMs);
    } finally {
      cancel();
    }
  }

  async #open(call: Call, signal: AbortSignal): Promise<TransportResponse> {
    const { transport, userAgent, onRequest, clock } = this.#options;
    const fence = call.method === "GET" ? undefined : this.#fence;
    fence?.assertLeading();
    const startedAt = clock.monotonic();
    let code = 0;
    try {
      const response = await transport.send({
        method: call.method,
        path: call.path,
        headers: {
          accept: call.accept ?? "application/json",
          "user-agent": userAgent,
          ...(call.body === undefined ? {} : { "content-type": call.contentType ?? "application/json" }),
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        signal,
        streaming: call.verb === "watch",
        admit: fence && (() => fence.assertLeading()),
      });
      code = response.status;
      if (code < 200 || code >= 300) throw await errorFromResponse(call.what, response);
      this.#throttle.succeeded();
      return response;
    } finally {
      const { verb, resource } = call;
      onRequest?.({ verb, resource, code, durationMs: clock.monotonic() - startedAt });
    }
  }
}

/** Whether there was no complete response, so that the result of the request is unknown. */
function isBroken(error: unknown): boolean {
  return !isOurs(error) && !(error instanceof KubeconfigError) && !isBug(error);
}

function isOurs(error: unknown): error is Error {
  return [ApiError, NotLeaderError, RunTimeoutError].some((known) => error instanceof known);
}

function parseBody<R>(what: string, text: string): R {
  try {
    return JSON.parse(text) as R;
  } catch (cause) {
    throw new ApiError(`${what}: the response is not JSON`, { reason: "InvalidResponse", code: 0, cause });
  }
}

/**
 * Some kinds return the object although it is deleted; it only remains if it has a finalizer or a grace
 * period.
 */
function remains({ metadata }: KubeObject): boolean {
  return (metadata?.finalizers?.length ?? 0) > 0 || (metadata?.deletionGracePeriodSeconds ?? 0) > 0;
}

function asApiError(what: string, error: unknown, signal: AbortSignal): Error {
  if (isOurs(error)) return error;
  if (signal.reason instanceof ApiError) return signal.reason;
  if (isBug(error)) {
    const message = `${what}: the request failed inside this program: ${redactText(error.message)}`;
    return new ApiError(message, { reason: "InternalError", code: 0, cause: error });
  }
  return new ApiError(`${what}: ${whyNoAnswer(error)}`, { reason: "Unreachable", code: 0, cause: error });
}

/** Connection errors have a code; any other error may not be one. */
function whyNoAnswer(error: unknown): string {
  if (error instanceof KubeconfigError) return error.message;
  const hasCode = error instanceof Error && "code" in error && error.code !== undefined;
  return hasCode ? "the API server could not be reached" : "the request failed";
}
