// Keeps a page up to date. One stream says which part of the data changed, never
// how it looks; what shows that part is fetched again from its own address. While
// somebody is choosing or typing, nothing moves under their hands.
"use strict";
(() => {
  const { clock, now } = window.parkade;
  const bar = document.querySelector("[data-live]");
  const stream = document.querySelector("[data-stream]");
  if (!bar || !stream) return;

  const SILENCE = 25_000; // the server beats every 10 s
  const PACE = 500;       // at most two refreshes a second
  const stale = new Set();
  let byHand = false, busy = false, nextAt = 0;
  let heardAt = now(), triedAt = 0;

  const held = () => document.hidden || byHand || document.querySelector("[data-tick]:checked, dialog[open], [data-editing]") !== null;

  const markStale = (topic) => {
    for (const part of document.querySelectorAll("[data-refresh]")) {
      if (!topic || part.dataset.refresh.split(/\s+/).includes(topic)) stale.add(part.id);
    }
  };

  const show = () => {
    const silent = now() - heardAt > SILENCE;
    const state = silent ? "lost" : held() ? "paused" : "live";
    const text = silent ? `Not live since ${clock(heardAt)}` : state === "paused" ? "Updates paused" : "Live";
    const ticking = document.querySelector("[data-tick]:checked") !== null;
    for (const note of document.querySelectorAll("[data-held]")) note.hidden = !ticking;
    if (bar.dataset.state === state && bar.dataset.text === text) return;
    bar.hidden = false;
    bar.dataset.state = state;
    bar.dataset.text = text;
    bar.querySelector("[data-live-text]").textContent = text;
    bar.querySelector("[data-live-status]").textContent = text;
    bar.querySelector("button").title = state === "live" ? "Pause updates" : "Refresh now";
  };

  // refresh asks for one part again. An answer without that part (a login page, an
  // error) changes nothing on this page.
  const refresh = async (part) => {
    const url = part.dataset.refreshUrl || location.pathname + location.search;
    busy = true;
    try {
      await htmx.ajax("GET", url, {
        source: part, target: part, swap: "outerMorph", select: `#${CSS.escape(part.id)}`,
        headers: { "Parkade-Refresh": part.id },
      });
    } finally {
      busy = false;
    }
  };

  document.addEventListener("htmx:after:request", (event) => {
    const ctx = event.detail.ctx, id = ctx.request.headers["Parkade-Refresh"];
    if (!id) return;
    const answered = ctx.response.status === 200 && ctx.text.includes(`id="${id}"`);
    if (!answered) event.preventDefault();
  });

  // An open disclosure stays open, and what is being chosen in it stays chosen.
  htmx.registerExtension("parkade", {
    htmx_before_morph_attr: (element, { attrName }) => !(attrName === "open" && element.matches("details, dialog")),
  });

  const step = () => {
    const at = performance.now();
    if (!busy && at >= nextAt && stale.size > 0 && !held()) {
      const [id] = stale;
      stale.delete(id);
      const part = document.getElementById(id);
      if (part) {
        nextAt = at + PACE;
        refresh(part).catch(() => {}); // htmx has said why in its own event
      }
    }
    show();
  };

  const refreshAll = async () => {
    stale.clear();
    for (const part of document.querySelectorAll("[data-refresh]")) await refresh(part).catch(() => {});
    show();
  };

  document.addEventListener("htmx:sse:before:message", (event) => {
    heardAt = now();
    const topic = event.detail.message.event;
    if (topic) markStale(topic);
    step();
  });
  // Its address says what this page has seen: it begins with whatever is newer.
  // The extension connects again by itself, except after a first try that failed.
  const reconnect = () => {
    if (document.hidden || stream._htmx?.sse || now() - Math.max(heardAt, triedAt) < 10_000) return;
    triedAt = now();
    htmx.process(stream, true);
  };

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest("[data-refresh-now]")) {
      event.preventDefault();
      refreshAll();
    } else if (event.target.closest("[data-live] button")) {
      if (bar.dataset.state === "live") {
        byHand = true;
      } else {
        byHand = false;
        refreshAll();
      }
      show();
    }
  });
  document.addEventListener("change", show);
  document.addEventListener("visibilitychange", step);
  window.addEventListener("pageshow", (event) => { if (event.persisted) markStale(); });

  setInterval(() => { step(); reconnect(); }, 250);
  show();
  window.parkade.refreshAll = refreshAll;
})();
