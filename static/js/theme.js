// Runs before anything is drawn, so that a remembered theme never flashes.
"use strict";
try {
  const theme = localStorage.getItem("parkade-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.bsTheme = theme;
} catch {
  // storage is switched off: the system's theme it is
}
