/** What the process writes right before it stops itself, followed by the act at which it does. */
export const STOPPED_AT = "stopped itself at: ";
