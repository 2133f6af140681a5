/** What is new since the last visit: the time of a visit is kept in this browser alone, and nothing is sent. */

const KEPT = "pullrank-visit";
/** Pages opened within this time belong to one visit, in milliseconds. */
const ONE_VISIT = 30 * 60 * 1000;

const place = document.querySelector(".pr-visit");
if (place) tell(place, lastVisit(Date.now()));

/** When the visit before this one ended, in milliseconds; null on a first one. */
function lastVisit(now) {
  try {
    const key = `${KEPT} ${new URL("../../", import.meta.url).pathname}`;
    const { seen = null, before = null } = JSON.parse(localStorage.getItem(key) ?? "{}") ?? {};
    const last = typeof seen === "number" && now - seen > ONE_VISIT ? seen : before;
    localStorage.setItem(key, JSON.stringify({ seen: now, before: last }));
    return typeof last === "number" && last >= 0 && last <= now ? last : null;
  } catch {
    // Storage may be disabled, or hold something else.
    return null;
  }
}

function tell(place, last) {
  if (last === null) return;
  const fresh = [...document.querySelectorAll("[data-at]")].filter((item) => Date.parse(item.dataset.at) > last);
  for (const item of fresh) item.classList.add("pr-fresh");
  const count = (kind) => fresh.filter((item) => item.dataset.kind === kind).length;
  const words = (number, one, more) => (number ? [`${number} ${number === 1 ? one : more}`] : []);
  const news = [...words(count("lead"), "new leader", "new leaders"), ...words(count("entry"), "new result", "new results")];
  const day = new Date(last).toISOString().slice(0, 10);
  place.textContent = `Since your last visit on ${day}: ${news.length ? news.join(", ") : "nothing new"}.`;
  place.hidden = false;
}
