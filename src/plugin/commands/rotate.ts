import { type Kind, type Stored, timestamp } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { withDefaults as controlPlaneOf } from "../../operator/coderd/settings.ts";
import { ROTATE_ANNOTATION } from "../../operator/names.ts";
import { type Command, CommandError } from "../command.ts";
import { completeObjects, type Found, findObject, type OurObject, typedName } from "../objects.ts";
import { nextFor, written } from "./changed-object.ts";

/** What can be rotated, on which kind, and what happens next. */
const SUBJECTS: Readonly<Record<string, { readonly kind: Kind<OurObject>; readonly next: string }>> = {
  provisioner: {
    kind: CoderProvisioner,
    next: "The operator creates a new key, and deletes the old one after all daemons use the new key.",
  },
  token: {
    kind: CoderControlPlane,
    next: "The operator creates a new token for itself and revokes the old one.",
  },
};

export const rotate: Command = {
  name: "rotate",
  summary: "Replace a provisioner key, or the operator's own token, without an outage",
  details: `Sets the annotation ${ROTATE_ANNOTATION} to the current time.`,
  arguments: [
    {
      name: "what",
      summary: "provisioner: the key of a pool; token: the operator's token at a control plane",
      choices: Object.keys(SUBJECTS),
    },
    { name: "name", summary: "the CoderProvisioner, or the CoderControlPlane", complete: completeObjects() },
  ],
  examples: [
    { does: "Replace the key of a pool", line: "kubectl coder rotate provisioner linux" },
    { does: "Replace the operator's token at a control plane", line: "kubectl coder rotate token coder" },
  ],
  run: async (context, { arguments: [what = "", typed = ""] }) => {
    const subject = SUBJECTS[what];
    if (!subject) throw new CommandError(`"${what}" can't be rotated.`);
    const cluster = await context.connect();
    const found = await findObject(
      cluster,
      typed.includes("/") ? typed : typedName(subject.kind, { name: typed }),
    );
    const { kind, object } = found;
    if (kind.kind !== subject.kind.kind) throw new CommandError(`"${typed}" is not a ${subject.kind.kind}.`);
    refuseForeignToken(found);
    const annotations = { [ROTATE_ANNOTATION]: timestamp(context.clock.now()) };
    await cluster.client.mergePatch(kind, object.metadata, { metadata: { annotations } });
    return written({
      object: typedName(kind, object.metadata),
      did: `marked for rotation of its ${what === "token" ? "token" : "key"}`,
      changed: true,
      next: nextFor(found, subject.next),
    });
  },
};

/** The operator only replaces a token that it created. */
function refuseForeignToken({ kind, object }: Found): void {
  if (kind.kind !== CoderControlPlane.kind) return;
  const { operatorAccess } = controlPlaneOf(object as Stored<CoderControlPlane>);
  if (operatorAccess.kind === "disabled")
    throw new CommandError("spec.operatorAccess.disabled: the operator has no token there.");
  if (operatorAccess.kind === "given")
    throw new CommandError(
      `spec.operatorAccess.tokenSecretRef names your own token: create another one in Coder and store it in Secret "${operatorAccess.token.name}".`,
    );
}
