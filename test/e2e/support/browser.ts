import { expect } from "vitest";

/** A page that a browser has come to. */
interface Page {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
}

interface Visit {
  readonly method: "GET" | "POST";
  readonly body?: URLSearchParams;
}

/** More in a row would be a loop. */
const MAX_REDIRECTS = 10;

/** A browser without a screen: it follows redirects, keeps cookies for each host, and sends forms. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #resolve: (origin: string) => string;

  /** `resolve` is its DNS: the address that answers for an origin. */
  constructor(resolve: (origin: string) => string) {
    this.#resolve = resolve;
  }

  /** Opens a page and follows redirects. */
  async open(url: string): Promise<Page> {
    return this.#visit(new URL(url), { method: "GET" });
  }

  /** Sends the form of a page, with the values that a person types. */
  async submit({ url, text }: Page, typed: Readonly<Record<string, string>> = {}): Promise<Page> {
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(text) ?? [];
    if (action === undefined) throw new Error(`${url.origin}${url.pathname} has no form`);
    const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const values = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]));
    const body = new URLSearchParams({ ...values, ...typed });
    return this.#visit(new URL(action, url), { method: "POST", body });
  }

  cookie(origin: string, name: string): string | undefined {
    return this.#cookies.get(origin)?.get(name);
  }

  async #visit(start: URL, first: Visit): Promise<Page> {
    let [url, visit] = [start, first];
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await this.#send(url, visit);
      const location = response.headers.get("Location");
      if (location === null) return { url, status: response.status, text: await response.text() };
      await response.body?.cancel();
      [url, visit] = [new URL(location, url), { method: "GET" }];
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${url.origin}${url.pathname}`);
  }

  async #send(url: URL, visit: Visit): Promise<Response> {
    const cookies = this.#cookies.get(url.origin) ?? new Map<string, string>();
    this.#cookies.set(url.origin, cookies);
    const Cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const address = `${this.#resolve(url.origin)}${url.pathname}${url.search}`;
    const response = await fetch(address, { ...visit, headers: { Cookie }, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return response;
  }
}

/** Logs in at the identity provider, to whose login page the application redirects, and comes back to the application. */
export async function logIn(browser: Browser, start: string, username: string): Promise<Page> {
  const login = await browser.open(start);
  expect(login.text).toContain("Sign-in");
  const consent = await browser.submit(login, { login: username, password: "any" });
  expect(consent.text).toContain("Authorize");
  return browser.submit(consent);
}
