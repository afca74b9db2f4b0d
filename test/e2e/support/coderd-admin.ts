import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A daemon as coderd lists it. */
export interface ListedDaemon {
  readonly id: string;
  readonly name: string;
  readonly key_id: string;
  readonly key_name: string;
  readonly status: "offline" | "idle" | "busy";
  readonly tags: Readonly<Record<string, string>>;
  readonly last_seen_at: string;
}

export interface ListedWorkspace {
  readonly id: string;
  readonly latest_build: {
    readonly reason: string;
    readonly job: { readonly status: string; readonly worker_id?: string };
  };
}

export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface ListedProxy {
  readonly name: string;
  readonly display_name: string;
  readonly healthy: boolean;
  readonly status: { readonly status: string };
}

/** A user in coderd. */
export interface Person {
  readonly email: string;
  readonly username: string;
  readonly name: string;
}

const ADMIN: Person = { email: "admin@example.com", username: "admin", name: "Admin" };
const PASSWORD = "a-Long-enough-1-password";
const ORGANIZATION = "/api/v2/organizations/default";

interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** The first user of a coderd, who may do everything there: by HTTP and with the real command line. */
export class CoderdAdmin implements AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly #binary: string;
  readonly #home: string;
  readonly #end = new AbortController();

  private constructor(url: string, token: string, { binary, home }: { binary: string; home: string }) {
    this.url = url;
    this.token = token;
    this.#binary = binary;
    this.#home = home;
  }

  /** Makes the first user, as the setup page would, and signs in. */
  static async signUp(url: string, binary: string, person = ADMIN): Promise<CoderdAdmin> {
    await send(url, { method: "POST", path: "/api/v2/users/first", body: { ...person, password: PASSWORD } });
    return CoderdAdmin.signIn(url, binary, { email: person.email, password: PASSWORD });
  }

  /** Signs in as the first user that there is. */
  static async signIn(url: string, binary: string, credentials: Credentials): Promise<CoderdAdmin> {
    const token = await signIn(url, credentials);
    const home = await mkdtemp(join(tmpdir(), "coder-k8s-person-"));
    return new CoderdAdmin(url, token, { binary, home });
  }

  /** Creates a member and returns a session token. */
  async invite(person: Person): Promise<string> {
    const { id } = await this.get<{ id: string }>(ORGANIZATION);
    await this.#send("POST", "/api/v2/users", { ...person, password: PASSWORD, organization_ids: [id] });
    return signIn(this.url, { email: person.email, password: PASSWORD });
  }

  get<T>(path: string): Promise<T> {
    return this.#send("GET", path) as Promise<T>;
  }

  async post(path: string, body: object): Promise<void> {
    await this.#send("POST", path, body);
  }

  async patch(path: string, body: object): Promise<void> {
    await this.#send("PATCH", path, body);
  }

  async put(path: string, body: object): Promise<void> {
    await this.#send("PUT", path, body);
  }

  async delete(path: string): Promise<void> {
    await this.#send("DELETE", path);
  }

  daemons(): Promise<ListedDaemon[]> {
    return this.get(`${ORGANIZATION}/provisionerdaemons`);
  }

  keys(): Promise<ListedKey[]> {
    return this.get(`${ORGANIZATION}/provisionerkeys`);
  }

  deleteKey(name: string): Promise<void> {
    return this.delete(`${ORGANIZATION}/provisionerkeys/${name}`);
  }

  /** One of this person's own. */
  workspace(name: string): Promise<ListedWorkspace> {
    return this.get(`/api/v2/users/me/workspace/${name}`);
  }

  async licenses(): Promise<{ id: number; uuid: string }[]> {
    return (await this.get<{ id: number; uuid: string }[] | null>("/api/v2/licenses")) ?? [];
  }

  async proxy(name: string): Promise<ListedProxy | undefined> {
    const { regions } = await this.get<{ regions: ListedProxy[] }>("/api/v2/workspaceproxies");
    return regions.find((region) => region.name === name);
  }

  /** Runs the real `coder` as this person. Returns what it printed; fails with it when the command fails. */
  cli(...args: string[]): Promise<string> {
    const env = {
      PATH: process.env.PATH,
      HOME: this.#home,
      CODER_URL: this.url,
      CODER_SESSION_TOKEN: this.token,
    };
    const running = promisify(execFile)(this.#binary, args, { env, signal: this.#end.signal });
    const printed = running.then(({ stdout }) => stdout);
    // A test that has failed meanwhile waits for nothing any more.
    printed.catch(() => undefined);
    return printed;
  }

  /** Ends the commands that still run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await rm(this.#home, { recursive: true, force: true });
  }

  #send(method: string, path: string, body?: unknown): Promise<unknown> {
    return send(this.url, { method, path, body, token: this.token });
  }
}

async function signIn(url: string, body: Credentials): Promise<string> {
  const session = await send(url, { method: "POST", path: "/api/v2/users/login", body });
  return (session as { session_token: string }).session_token;
}

interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly token?: string;
}

async function send(url: string, { method, path, body, token }: Question): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: token === undefined ? {} : { "Coder-Session-Token": token },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
