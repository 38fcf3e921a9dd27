/** A reading: epoch seconds and the share used, null where it was not known. */
export type Point = readonly [atSeconds: number, used: number | null];

/** How long a reading is believed; then nothing is known until the next one. As the gateway's `expires_at`. */
const believedSeconds = 300;
/** Readings at most this far apart belong to one line: the gateway reads every five minutes while a program asks for the limits. */
const joinedSeconds = 2 * 3600;
/** Readings older than this are thinned to one a day. */
const daily = 60 * 86_400;

/** The points of a line as they are drawn: a null where the line breaks, and the last value up to now while it is believed. */
export function withGaps(points: readonly Point[], nowSeconds: number): readonly Point[] {
  const line: Point[] = [];
  points.forEach(([at, used], index) => {
    line.push([at, used]);
    const next = points[index + 1]?.[0] ?? nowSeconds;
    const isLast = index === points.length - 1;
    if (used === null) return;
    if (next - at > joinedFor(nowSeconds - at))
      line.push([at + believedSeconds, used], [at + believedSeconds + 1, null]);
    else if (isLast && nowSeconds > at) line.push([nowSeconds, used]);
  });
  return line;
}

function joinedFor(ageSeconds: number): number {
  return ageSeconds > daily ? 2 * 86_400 : joinedSeconds;
}

/** The readings with the newest one, which the cards show, at their end. */
export function withNewest(points: readonly Point[], newest: Point | undefined): readonly Point[] {
  if (newest === undefined) return points;
  return [...points.filter(([at]) => at < newest[0]), newest];
}

/** What a line stands at: the value that was read last before a time; null in a gap and before the first reading. */
export function valueAt(line: readonly Point[], atSeconds: number): number | null {
  return line.findLast(([at]) => at <= atSeconds)?.[1] ?? null;
}
