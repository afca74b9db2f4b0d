import { randomUUID } from "node:crypto";
import type { Account } from "./accounts.ts";

/** A user of a simulated coderd. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly username: string;
  readonly name: string;
  readonly password: string | undefined;
  readonly owner: boolean;
}

/** The user who set up the deployment. */
const EARLIER: Person = {
  id: randomUUID(),
  email: "testuser@coder.com",
  username: "testuser",
  name: "Test User",
  password: undefined,
  owner: true,
};

/** The users of a deployment, except system users, and their sessions. */
export class People {
  readonly #all: Person[];
  readonly #sessions = new Map<string, Account>();

  constructor({ isEmpty = false } = {}) {
    this.#all = isEmpty ? [] : [EARLIER];
  }

  get all(): readonly Person[] {
    return this.#all;
  }

  /** Plays the loss of the database. */
  clear(): void {
    this.#all.length = 0;
    this.#sessions.clear();
  }

  add(person: Partial<Person> & Pick<Person, "email" | "username">): Person {
    const added = { id: randomUUID(), name: "", password: undefined, owner: true, ...person };
    this.#all.push(added);
    return added;
  }

  find(usernameOrId: string): Person | undefined {
    const wanted = usernameOrId.toLowerCase();
    return this.#all.find(({ id, username }) => id === wanted || username.toLowerCase() === wanted);
  }

  /** Returns a session token if the password is correct. */
  logIn(email: string, password: string, createdAt: string): string | undefined {
    const person = this.#all.find((each) => each.email.toLowerCase() === email.toLowerCase());
    if (!person || person.password === undefined || person.password !== password) return undefined;
    const token = randomUUID()
      .replaceAll("-", "")
      .replace(/^(.{10})/, "$1-");
    const { id, username, name, owner } = person;
    this.#sessions.set(token, {
      id,
      username,
      name,
      email: person.email,
      owner,
      createdAt,
      loginType: "password",
    });
    return token;
  }

  session(token: string): Account | undefined {
    return this.#sessions.get(token);
  }

  logOut(token: string): void {
    this.#sessions.delete(token);
  }
}
