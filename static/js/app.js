// What every page has: theme, times, copying, sheets. The other scripts use
// window.parkade; each of them works on attributes, listed in docs/frontend.md.
"use strict";
window.parkade = (() => {
  const root = document.documentElement;

  const remember = (key, value) => {
    try {
      if (value === undefined) return localStorage.getItem(key);
      localStorage.setItem(key, value);
    } catch {
      // storage is switched off: nothing is remembered
    }
    return null;
  };

  // The page says what time it is for the server; a wrong clock here must not make ages wrong.
  const skew = (Date.parse(document.body.dataset.now ?? "") || Date.now()) - Date.now();
  const now = () => Date.now() + skew;
  const clock = (ms) => new Date(ms).toISOString().slice(11, 19);

  // The server words ages in the same way: two units at most, seconds only below ten minutes.
  const age = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000));
    const m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
    const two = (a, unitA, b, unitB) => `${a} ${unitA}` + (b ? ` ${b} ${unitB}` : "");
    if (s < 60) return `${s} s`;
    if (m < 10) return two(m, "min", s % 60, "s");
    if (m < 60) return `${m} min`;
    if (h < 24) return two(h, "h", m % 60, "min");
    return d < 7 ? two(d, "d", h % 24, "h") : `${d} d`;
  };

  const write = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  // data-ago: "" writes "3 s ago", "age" writes "3 s", "until" writes "in 3 s".
  const tick = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const at = Date.parse(time.dateTime), kind = time.dataset.ago;
      if (Number.isNaN(at)) continue;
      if (kind === "until") write(time, at > now() ? `in ${age(at - now())}` : "now");
      else write(time, age(now() - at) + (kind === "age" ? "" : " ago"));
    }
    for (const element of document.querySelectorAll("[data-clock]")) write(element, `${clock(now())} UTC`);
  };

  const toggleTheme = () => {
    const dark = root.dataset.bsTheme ? root.dataset.bsTheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.bsTheme = dark ? "light" : "dark";
    remember("parkade-theme", root.dataset.bsTheme);
  };

  // navigator.clipboard is missing on plain http, hence the second way.
  const copy = async (button) => {
    const from = button.dataset.copy && document.querySelector(button.dataset.copy);
    const text = from ? (from.value ?? from.textContent) : (button.dataset.copyText ?? "");
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "visually-hidden";
      (button.closest("dialog") ?? document.body).append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const label = button.querySelector("[data-copied]") ?? button;
    const before = label.textContent;
    label.textContent = done ? "Copied" : "Press Ctrl+C";
    label.setAttribute("role", "status");
    setTimeout(() => { label.textContent = before; }, 2000);
  };

  const open = (dialog) => {
    if (dialog && !dialog.open) dialog.showModal();
  };

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest("[data-theme-toggle]")) toggleTheme();
    const copying = event.target.closest("[data-copy], [data-copy-text]");
    if (copying) copy(copying);
    // browsers without invoker commands
    const opener = event.target.closest("button[command='show-modal']");
    if (opener && !("command" in HTMLButtonElement.prototype)) open(document.getElementById(opener.getAttribute("commandfor")));
    // a click beside a sheet closes it, unless something was typed into it
    if (event.target.matches("dialog.pk-sheet:not(:has(form:not([method='dialog'])))")) event.target.close();
  });

  // What the server puts into <dialog id="sheet"> opens it; closing empties it.
  document.addEventListener("htmx:after:swap", (event) => {
    const target = event.detail?.ctx?.target;
    if (target instanceof HTMLDialogElement && target.childElementCount > 0) open(target);
    tick();
  });
  document.addEventListener("close", (event) => {
    if (event.target.id === "sheet") event.target.replaceChildren();
  }, true);

  tick();
  setInterval(tick, 1000);
  return { age, clock, now, open, remember, toggleTheme };
})();
