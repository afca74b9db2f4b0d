import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

const HOUR = 3_600;

/** What the identity provider says of a person. */
export interface Claims {
  readonly email: string;
  readonly name: string;
  /** Values of the claim `groups`. */
  readonly groups: readonly string[];
}

/** The application that logs people in. */
interface Registration {
  readonly clientID: string;
  readonly clientSecret: string;
  readonly redirectURL: string;
}

/**
 * A real OpenID Connect server on this machine. Its pages accept any password and ask for consent to each application
 * once in each browser.
 */
export class IdentityProvider implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #people = new Map<string, Claims>();

  private constructor(server: Server, { clientID, clientSecret, redirectURL }: Registration) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#server = server;
    const provider = new Provider(this.url, {
      clients: [{ client_id: clientID, client_secret: clientSecret, redirect_uris: [redirectURL] }],
      claims: {
        email: ["email", "email_verified"],
        groups: ["groups"],
        profile: ["name", "preferred_username"],
      },
      ttl: { AccessToken: HOUR, Grant: HOUR, IdToken: HOUR, Interaction: HOUR, Session: HOUR },
      findAccount: (_context, username) => this.#account(username),
    });
    server.on("request", provider.callback());
  }

  static async open(registration: Registration): Promise<IdentityProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new IdentityProvider(server, registration);
  }

  /** Says this of a person from now on. */
  knows(username: string, claims: Claims): void {
    this.#people.set(username, claims);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #account(username: string) {
    const known = this.#people.get(username);
    if (!known) return undefined;
    const { groups, ...claims } = known;
    return {
      accountId: username,
      claims: () => ({
        sub: username,
        preferred_username: username,
        email_verified: true,
        groups: [...groups],
        ...claims,
      }),
    };
  }
}
