// The keyboard. A page declares its keys: data-go="m" on the links of the rail
// (after g), data-key="e" on whatever that key presses; rows carry data-row.
"use strict";
(() => {
  const { open, remember, toggleTheme } = window.parkade;
  const SWITCH = "parkade-keys";
  let pendingGo = 0;

  const off = () => remember(SWITCH) === "off";
  const typing = (element) => element?.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]") != null;
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
  const here = () => document.activeElement?.closest?.("[data-row]");

  const move = (by) => {
    const all = rows();
    if (all.length === 0) return;
    const at = all.indexOf(here());
    const row = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    (row.querySelector("[data-open]") ?? row.querySelector("a[href]"))?.focus();
    row.scrollIntoView({ block: "nearest" });
  };

  const press = (selector) => {
    const target = document.querySelector(selector);
    target?.focus(); // so that a sheet that it opens gives the focus back to it
    target?.click();
    return target !== null;
  };

  const search = () => {
    const field = [...document.querySelectorAll("[data-search]")].find((element) => element.offsetParent !== null);
    field?.focus();
    field?.select();
  };

  const single = {
    "/": search,
    "?": () => open(document.getElementById("keys")),
    g: () => { pendingGo = Date.now() + 1500; },
    j: () => move(1),
    k: () => move(-1),
    x: () => window.parkade.tick(here(), false),
    X: () => window.parkade.tick(here(), true),
    r: () => (window.parkade.refreshAll ? window.parkade.refreshAll() : location.reload()),
    t: toggleTheme,
    "[": () => press("a[rel=prev]"),
    "]": () => press("a[rel=next]"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { key } = event;
    if (key === "Escape") {
      if (document.querySelector("dialog[open], :popover-open")) return; // the browser closes these
      if (typing(event.target)) event.target.blur();
      else press("a[data-back]");
      return;
    }
    if (key.length !== 1 || off() || typing(event.target) || document.querySelector("dialog[open]")) return;

    let done = true;
    if (pendingGo > Date.now()) {
      done = press(`a[data-go="${CSS.escape(key)}"]`);
      pendingGo = 0;
    } else if (Object.hasOwn(single, key)) {
      single[key]();
    } else {
      done = press(`[data-key="${CSS.escape(key)}"]`);
    }
    if (done) event.preventDefault();
  });

  // The off switch stands in the sheet of keys and in the settings.
  for (const box of document.querySelectorAll("[data-keys-switch]")) box.checked = !off();
  document.addEventListener("change", (event) => {
    if (event.target instanceof Element && event.target.matches("[data-keys-switch]")) remember(SWITCH, event.target.checked ? "on" : "off");
  });
})();
