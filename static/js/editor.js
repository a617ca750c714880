// The editor of the page on which a message is edited: CodeMirror over its text
// area, which stays what is sent. Without this file the text area itself is typed
// into.
"use strict";
(() => {
  const form = document.getElementById("edit");
  if (!form) return;
  const area = form.querySelector("[data-editor]");
  const confirm = form.querySelector("[data-confirm]");
  let typed = false;

  // What was previewed is what is sent: after another letter it must be looked at again.
  const touch = () => {
    if (typed) return;
    typed = true;
    if (!confirm) return;
    confirm.disabled = true;
    form.querySelector("[data-stale]").textContent = "Changed since the preview: press Preview again to see what would be sent now.";
  };
  const about = (event) => !["why", "delay", "again"].includes(event.target.name);
  form.addEventListener("input", (event) => { if (about(event)) touch(); });
  form.addEventListener("submit", () => { typed = false; });
  window.addEventListener("beforeunload", (event) => { if (typed) event.preventDefault(); });

  // A server that refuses so much has to cut the connection, and the browser shows no reason then.
  form.querySelector("[data-most]")?.addEventListener("change", ({ target }) => {
    const mib = (n) => `${(n / 1048576).toFixed(1)} MiB`;
    const size = target.files[0]?.size ?? 0, most = Number(target.dataset.most);
    target.setCustomValidity(size > most ? `This file has ${mib(size)}; at most ${mib(most)} can be sent.` : "");
    target.reportValidity();
  });

  // Long lines and large texts make an editor slow; a text area bears them.
  const LARGE = 4_000_000, WIDE = 50_000;
  const text = area?.value ?? "";
  if (!area || text.length > LARGE || text.split("\n").some((line) => line.length > WIDE)) return;

  const cm = window.CodeMirror;
  const { EditorView, tags } = cm;
  const color = (name) => `var(--pk-${name})`;
  const theme = EditorView.theme({
    "&": { backgroundColor: color("raised"), color: color("ink"), border: `1px solid ${color("edge")}`, borderRadius: color("round"), fontSize: "12.5px" },
    "&.cm-focused": { outline: `2px solid ${color("sign")}`, outlineOffset: "1px" },
    ".cm-scroller": { fontFamily: color("mono"), lineHeight: "20px", minHeight: "320px", maxHeight: "70vh" },
    ".cm-content": { caretColor: color("ink") },
    ".cm-cursor": { borderLeftColor: color("ink") },
    ".cm-gutters": { backgroundColor: color("sunken"), color: color("faint"), border: "none" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: color("hover") },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: color("sign-wash") },
    ".cm-panels": { backgroundColor: color("sunken"), color: color("ink") },
    ".cm-textfield": { backgroundColor: color("raised"), color: color("ink"), border: `1px solid ${color("edge")}` },
    ".cm-button": { background: color("raised"), color: color("ink"), border: `1px solid ${color("edge")}` },
    ".cm-tooltip": { backgroundColor: color("raised"), color: color("ink"), border: `1px solid ${color("edge")}` },
    ".cm-specialChar": { color: color("bad") },
    // Their own are data: images, which the content security policy forbids.
    ".cm-lintRange-error": { backgroundImage: "none", textDecoration: `underline wavy ${color("bad-fill")}` },
    ".cm-lint-marker-error": { content: "'●'", color: color("bad"), lineHeight: "20px", fontSize: "10px", textAlign: "center" },
    ".cm-diagnostic-error": { borderLeftColor: color("bad-fill") },
  });
  const colors = cm.syntaxHighlighting(cm.HighlightStyle.define([
    { tag: [tags.string, tags.attributeValue], color: color("good") },
    { tag: [tags.number, tags.propertyName, tags.tagName], color: color("sign") },
    { tag: [tags.bool, tags.null, tags.keyword], color: color("warn"), fontWeight: "600" },
    { tag: [tags.comment, tags.processingInstruction], color: color("faint"), fontStyle: "italic" },
    { tag: tags.invalid, color: color("bad") },
  ]));
  const languages = { json: () => [cm.json(), cm.linter(cm.jsonParseLinter()), cm.lintGutter()], xml: () => [cm.xml()] };
  const kind = area.dataset.editor === "text" && /^\s*<\?xml/.test(text) ? "xml" : area.dataset.editor;

  // In a shadow root its styles are constructed, which the content security policy allows; in the page they would be inline.
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  // From outside, a letter typed in a shadow root looks like one typed on the page, which has a meaning of its own.
  host.addEventListener("keydown", (event) => { event.stopPropagation(); });
  area.after(host);
  const view = new EditorView({
    doc: text, root, parent: root,
    extensions: [
      theme, colors, languages[kind]?.() ?? [],
      cm.lineNumbers(), cm.foldGutter(), cm.highlightSpecialChars(), cm.history(), cm.drawSelection(), cm.bracketMatching(),
      cm.highlightActiveLine(), cm.highlightSelectionMatches(), cm.search({ top: true }), cm.indentUnit.of("  "), EditorView.lineWrapping,
      cm.keymap.of([
        { key: "Mod-Enter", run: () => { form.requestSubmit(form.querySelector("[name=do][value=preview]")); return true; } },
        { key: "Escape", run: (view) => { view.contentDOM.blur(); return true; } }, // Tab leaves the editor, and so does this
        ...cm.historyKeymap, ...cm.foldKeymap, ...cm.searchKeymap, ...cm.defaultKeymap,
      ]),
      EditorView.contentAttributes.of({ "aria-label": "Body", spellcheck: "false", autocapitalize: "off" }),
      EditorView.updateListener.of((update) => { if (update.docChanged) touch(); }),
    ],
  });
  if (document.activeElement === area || area.ariaInvalid === "true") view.focus();
  area.hidden = true;
  form.addEventListener("formdata", (event) => event.formData.set("body", view.state.doc.toString()));
})();
