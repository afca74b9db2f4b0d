import type { Fence } from "kube-controller-runtime";

/** The company's directory. It is independent of Kubernetes and must contain every team exactly once. */
export class Directory {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Creates or updates the entry of a team. The ID is the team's UID, so a repetition changes nothing. */
  async put(id: string, entry: object, fence: Fence): Promise<void> {
    await this.#send(id, { method: "PUT", body: JSON.stringify(entry) }, fence);
  }

  /** Removes a team; succeeds if it does not exist. */
  async remove(id: string, fence: Fence): Promise<void> {
    await this.#send(id, { method: "DELETE" }, fence);
  }

  async #send(id: string, request: RequestInit, fence: Fence): Promise<void> {
    // Another process may already be the leader and send the same or the opposite request.
    fence.assertLeading();
    const { signal } = fence;
    const response = await fetch(`${this.#url}/teams/${id}`, { ...request, signal });
    if (!response.ok && response.status !== 404)
      throw new Error(`the directory responded with ${response.status}; check ${this.#url}`);
  }
}
