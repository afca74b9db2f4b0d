import { execFile } from "node:child_process";
import { promisify } from "node:util";

const ACCOUNT = { email: "demo@example.com", username: "demo", name: "Demo" };

/** The first user of the demo's coderd, with Coder's CLI. */
export class Person {
  readonly url: string;
  /** Where the CLI stores its session. */
  readonly configFolder: string;
  readonly #coder: string;

  private constructor({
    url,
    configFolder,
    coder,
  }: Pick<Person, "url" | "configFolder"> & { coder: string }) {
    this.url = url;
    this.configFolder = configFolder;
    this.#coder = coder;
  }

  /** Creates the account, like the setup page, and logs in with the CLI. */
  static async signUp(
    url: string,
    { coder, configFolder, password }: { coder: string; configFolder: string; password: string },
  ): Promise<Person> {
    await post(`${url}/api/v2/users/first`, { ...ACCOUNT, password });
    const session = await post(`${url}/api/v2/users/login`, { email: ACCOUNT.email, password });
    const person = new Person({ url, configFolder, coder });
    await person.coder("login", url, "--token", session.session_token ?? "");
    return person;
  }

  /** Runs Coder's CLI as this user and returns its output. */
  async coder(...args: string[]): Promise<string> {
    const env = { PATH: process.env.PATH, HOME: this.configFolder, CODER_CONFIG_DIR: this.configFolder };
    const { stdout } = await promisify(execFile)(this.#coder, args, { env, maxBuffer: 1 << 24 });
    return stdout;
  }
}

async function post(url: string, body: object): Promise<{ readonly session_token?: string }> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`coderd refused ${new URL(url).pathname}: HTTP ${response.status}`);
  return (await response.json()) as { session_token?: string };
}
