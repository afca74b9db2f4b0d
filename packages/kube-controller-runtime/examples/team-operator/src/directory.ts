import type { Fence } from "kube-controller-runtime";

/** The company's directory: knows nothing of Kubernetes, and must learn of every team exactly once. */
export class Directory {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Enters a team, or changes its entry. The id is the team's uid, so a repetition changes nothing. */
  async put(id: string, entry: object, fence: Fence): Promise<void> {
    await this.#send(id, { method: "PUT", body: JSON.stringify(entry) }, fence);
  }

  /** Removes a team; one that is not there is fine. */
  async remove(id: string, fence: Fence): Promise<void> {
    await this.#send(id, { method: "DELETE" }, fence);
  }

  async #send(id: string, request: RequestInit, fence: Fence): Promise<void> {
    // Another process may lead by now, and would do the same, or the opposite.
    fence.assertLeading();
    const { signal } = fence;
    const response = await fetch(`${this.#url}/teams/${id}`, { ...request, signal });
    if (!response.ok && response.status !== 404)
      throw new Error(`the directory answers ${response.status}; check ${this.#url}`);
  }
}
