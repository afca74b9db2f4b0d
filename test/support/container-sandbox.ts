/**
 * Runs a program as a container would: in a mount namespace with another root that nothing can be written to, without
 * rights, as user 65532. `$1` is the root and `$2` a folder that it sees as /tmp.
 */
const SCRIPT = `
set -e
root=$1; mount=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount --bind "$mount" "$root/tmp"
mount -o remount,bind,ro "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot --groups= --userspec=65532:65532 "$root" "$@"
`;

/** Who is not root borrows root's place in a user namespace, which needs ranges in /etc/subuid and /etc/subgid. */
const AS_ROOT = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user", "--map-auto"];

/**
 * The command line that runs a program in a root of its own. Where the machine does not permit namespaces it ends
 * at once and says which call was refused. The process keeps its id through all of it.
 */
export function contained(root: string, mount: string, program: readonly string[]) {
  const args = [...AS_ROOT, "--mount", "sh", "-c", SCRIPT, "contained", root, mount, ...program];
  // Users other than root often miss the folder of chroot.
  return { command: "unshare", args, env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } };
}
