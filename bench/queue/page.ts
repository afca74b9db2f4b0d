export const PAGE = new URL("../../docs/performance.md", import.meta.url);
export const PICTURES = new URL("../../docs/images/", import.meta.url);
const [BEGIN, END] = ["<!-- begin: make simulate-queue -->", "<!-- end: make simulate-queue -->"];

/** Replaces the text between the markers of the page. */
export function between(page: string, text: (present: string) => string): string {
  const [begin, end] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  if (end < begin) throw new Error(`the page has no markers for the figures: add ${BEGIN} and ${END}`);
  return `${page.slice(0, begin)}\n\n${text(page.slice(begin, end).trim())}\n\n${page.slice(end)}`;
}
