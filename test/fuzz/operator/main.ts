/** The operator as users run it, under a watch on its event loop. */
import "./stalls.ts";
import "../../../src/main.ts";
