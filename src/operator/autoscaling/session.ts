import type { RunContext, Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { findControlPlane, observeControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { openSession, operatorToken, sessionSources } from "../coderd/session.ts";
import { gatherSources, referencesTo } from "../sources.ts";
import type { Access } from "./poll.ts";

/** Opens a session with the coderd of a control plane, using the operator's token. */
export async function connect(
  { metadata: { namespace = "", name } }: Stored<CoderControlPlane>,
  ports: CoderPorts,
  context: RunContext,
): Promise<Access> {
  const observed = observeControlPlane({ namespace, name }, context.caches);
  const found = findControlPlane({ namespace, name }, observed, ports);
  const { value: controlPlane } = found;
  if (!controlPlane) return { client: undefined, message: found.condition?.message ?? "" };
  const sources = await gatherSources(namespace, sessionSources(controlPlane), context);
  const { value: token, condition } = operatorToken(controlPlane, sources);
  if (!token) return { client: undefined, message: condition?.message ?? "" };
  const { settings, url } = controlPlane;
  return { client: openSession(settings, { url, token }, { ports, sources }), url, token };
}

/** Objects that a session with the control plane needs. */
export const references = referencesTo(
  ({ metadata: { namespace = "", name } }: Stored<CoderControlPlane>, caches) => {
    const observed = observeControlPlane({ namespace, name }, caches);
    return observed ? sessionSources(observed) : { secrets: [] };
  },
);
