import type { Clock } from "kube-controller-runtime";
import type { Decoder } from "./decode.ts";
import type { CoderFailure } from "./failure.ts";
import type { Answer, AnswerShape } from "./http/answer.ts";
import { classify, transient } from "./http/classify.ts";
import type { HttpRequest } from "./http/host.ts";
import { NoAnswer } from "./http/no-answer.ts";
import { failed, type Result } from "./result.ts";

export type CoderResult<T> = Promise<Result<T, CoderFailure>>;

export interface ClientOptions {
  /** Name of this coderd in messages. */
  readonly where: string;
  readonly token: string | undefined;
  readonly clock: Clock;
  readonly send: (request: HttpRequest) => Promise<Answer>;
}

interface Call<T> {
  readonly decoder: Decoder<T>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parts of the request that messages must not contain. */
  readonly secrets?: readonly string[];
  readonly answerShape?: AnswerShape | undefined;
}

/** Sends requests to one coderd with one token. */
export function caller({ where, token, clock, send }: ClientOptions) {
  return async <T>(
    method: HttpRequest["method"],
    path: string,
    { decoder, secrets = [], ...sent }: Call<T>,
  ): CoderResult<T> => {
    const request = `${method} ${path} at ${where}`;
    const hidden = token === undefined ? secrets : [token, ...secrets];
    try {
      const answer = await send({ method, path, token, ...sent });
      return classify(answer, decoder, { request, secrets: hidden, now: clock.now() });
    } catch (error) {
      if (error instanceof NoAnswer) return failed({ ...transient(request, error.message), why: "noAnswer" });
      throw error;
    }
  };
}

/** Ignores the body of an answer. */
export const nothing: Decoder<void> = () => undefined;
