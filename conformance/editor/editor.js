// The editor of a job's JSON. The text area that the page has is what forms send; the editor shows it and writes it. It
// is in a shadow root, so that its styles, which it makes as constructed style sheets, are under no policy of the page and
// meet no others.
// @ts-check

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting, syntaxTree } from '@codemirror/language';
import { Annotation, EditorState, StateEffect, StateField } from '@codemirror/state';
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, WidgetType } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const area = /** @type {HTMLTextAreaElement | null} */ (document.querySelector('#f-json'));

/** @typedef {{at: string, text: string}} Wrong */

// outside marks changes that come from the page.
const outside = Annotation.define();
const setWrong = StateEffect.define();

class Message extends WidgetType {
  /** @param {string} text */
  constructor(text) { super(); this.text = text }
  /** @param {Message} other */
  eq(other) { return other.text === this.text }
  toDOM() {
    const box = document.createElement('div');
    box.className = 'wrong-text';
    box.textContent = this.text;
    return box;
  }
}

/**
 * lineOf returns the line of the text at which a member of the definition is; that of the nearest one around it if it is
 * missing.
 * @param {EditorState} state @param {string} path such as properties.recurrence.schedule.hours[0]
 */
function lineOf(state, path) {
  let node = syntaxTree(state).topNode.firstChild, found = node?.from ?? 0;
  for (const step of path.split(/[.[\]]+/).filter(Boolean)) {
    if (!node) break;
    let inner = step === 'properties' ? node : null; // the definition may be without it
    if (node.name === 'Object') {
      for (const p of node.getChildren('Property')) {
        const name = p.getChild('PropertyName');
        if (name && state.sliceDoc(name.from + 1, name.to - 1).toLowerCase() === step.toLowerCase()) { inner = p.lastChild; found = p.from }
      }
    } else if (node.name === 'Array') {
      const items = [];
      for (let n = node.firstChild; n; n = n.nextSibling) if (!['[', ']', ',', '⚠'].includes(n.name)) items.push(n);
      inner = items[Number(step)] ?? null;
      if (inner) found = inner.from;
    }
    node = inner;
  }
  return state.doc.lineAt(found).from;
}

const wrongLines = StateField.define({
  create: () => Decoration.none,
  update(now, tr) {
    now = now.map(tr.changes);
    for (const e of tr.effects) {
      if (!e.is(setWrong)) continue;
      const marks = [], seen = new Set();
      for (const { at, text } of /** @type {Wrong[]} */ (e.value)) {
        const number = at === 'json' && Number(/ in line (\d+)/.exec(text)?.[1]);
        const line = number ? tr.state.doc.line(Math.min(number, tr.state.doc.lines)) : tr.state.doc.lineAt(lineOf(tr.state, at));
        if (!seen.has(line.from)) marks.push(Decoration.line({ class: 'wrong' }).range(line.from));
        seen.add(line.from);
        marks.push(Decoration.widget({ widget: new Message(text), block: true, side: 1 }).range(line.to));
      }
      now = Decoration.set(marks, true);
    }
    return now;
  },
  provide: (f) => EditorView.decorations.from(f),
});

/**
 * changedLines returns the numbers of the lines of a text that are not in another one, in order.
 * @param {string[]} was @param {string[]} now @returns {number[]}
 */
function changedLines(was, now) {
  let from = 0, end = 0;
  while (from < was.length && from < now.length && was[from] === now[from]) from++;
  while (end < was.length - from && end < now.length - from && was[was.length - 1 - end] === now[now.length - 1 - end]) end++;
  const a = was.slice(from, was.length - end), b = now.slice(from, now.length - end);
  if (a.length * b.length > 250_000) return b.map((_, i) => from + i + 1);
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const out = [];
  for (let i = 0, j = 0; j < b.length;) {
    if (i < a.length && a[i] === b[j]) { i++; j++ } else if (i < a.length && longest[i + 1][j] >= longest[i][j + 1]) i++; else out.push(from + ++j);
  }
  return out;
}

/** @param {string} was the text that is stored */
const changes = (was) => EditorView.decorations.compute(['doc'], (state) => was === ''
  ? Decoration.none
  : Decoration.set(changedLines(was.split('\n'), state.doc.toString().split('\n')).map((n) => Decoration.line({ class: 'changed' }).range(state.doc.line(n).from))));

const look = EditorView.theme({
  '&': { border: '1px solid var(--field)', borderRadius: '3px', backgroundColor: 'var(--bg)', color: 'var(--ink)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--link)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono, ui-monospace, monospace)', lineHeight: '1.5' },
  '.cm-content': { padding: '6px 0', caretColor: 'var(--ink)', minHeight: '24em' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--bg2)', color: 'var(--ink3)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--bg3)' },
  '.cm-line': { borderLeft: '3px solid transparent', paddingLeft: '5px' },
  '.cm-line.changed': { borderLeftColor: 'var(--link)' },
  '.cm-line.wrong': { borderLeftColor: 'var(--fail)' },
  '.wrong-text': { padding: '1px 8px 3px', borderLeft: '3px solid var(--fail)', color: 'var(--fail)', backgroundColor: 'var(--fail-bg)', whiteSpace: 'normal', fontFamily: 'system-ui, sans-serif' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--sel)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--sel)', outline: '1px solid var(--line2)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--bg2)', border: '1px solid var(--line2)', color: 'var(--ink2)' },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--ink)', fontWeight: '600' }, { tag: tags.string, color: 'var(--ink2)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--link)' }, { tag: tags.separator, color: 'var(--ink3)' }, { tag: tags.invalid, color: 'var(--fail)' },
]);

/** @param {HTMLTextAreaElement} area */
function mount(area) {
  const host = document.createElement('div'), root = host.attachShadow({ mode: 'open' });
  host.className = 'editor';
  let own = false; // the page is told what was written here
  /** @returns {Wrong[]} */
  const wrong = () => [...document.querySelectorAll('[data-errors] > li')].map((e) => ({ at: /** @type {HTMLElement} */ (e).dataset.at ?? '', text: e.textContent ?? '' }));
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        lineNumbers(), foldGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), json(), syntaxHighlighting(colours), look,
        keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap]), wrongLines, changes(area.dataset.stored === 'yes' ? area.value : ''), EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': area.labels?.[0]?.textContent ?? '' }),
        EditorView.updateListener.of((u) => {
          if (!u.docChanged || u.transactions.every((tr) => tr.annotation(outside))) return;
          own = true;
          area.value = u.state.doc.toString();
          area.dispatchEvent(new InputEvent('input', { bubbles: true }));
          own = false;
        }),
      ],
    }),
  });
  // follow takes over what the page wrote into the text area: only what differs, so that the cursor stays where it is.
  const follow = () => {
    const was = view.state.doc.toString(), now = area.value.replace(/\r\n?/g, '\n');
    let from = 0, end = 0;
    while (from < was.length && from < now.length && was[from] === now[from]) from++;
    while (end < was.length - from && end < now.length - from && was[was.length - 1 - end] === now[now.length - 1 - end]) end++;
    const differs = was !== now && { changes: { from, to: was.length - end, insert: now.slice(from, now.length - end) }, annotations: outside.of(true) };
    view.dispatch({ ...differs, effects: setWrong.of([]) });
    view.dispatch({ effects: setWrong.of(wrong()) });
  };
  area.addEventListener('input', () => { if (!own) follow() });
  area.addEventListener('checked', follow);
  addEventListener('pageshow', follow);
  document.addEventListener('click', (e) => {
    const to = /** @type {Element} */ (e.target).closest?.('a[href="#f-json"], label[for="f-json"]');
    if (to) { e.preventDefault(); host.scrollIntoView({ block: 'nearest' }); view.focus() }
  });
  area.after(host);
  area.hidden = true;
}

if (area) mount(area);
