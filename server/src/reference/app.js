// What the reference can do beyond reading: search and copy. Everything else works without it.

/** Entries shown at most. */
const FOUND_MAX = 20

for (const button of document.querySelectorAll('.copy')) {
  button.hidden = false
  button.addEventListener('click', () => void copy(button))
}

const form = document.querySelector('.search')
const input = document.querySelector('#search')
const list = document.querySelector('#found')
let index = null

form.hidden = false
form.addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
input.addEventListener('focus', () => void load())
input.addEventListener('input', () => void show())
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !/INPUT|TEXTAREA/.test(document.activeElement?.tagName ?? '')) {
    event.preventDefault()
    input.focus()
  } else if (event.key === 'Escape') {
    list.hidden = true
    if (document.activeElement === input) input.blur()
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') move(event)
})
document.addEventListener('click', (event) => {
  if (!form.contains(event.target)) list.hidden = true
  else if (event.target.closest?.('#found a')) list.hidden = true
})

async function copy(button) {
  await navigator.clipboard.writeText(button.nextElementSibling.textContent)
  button.textContent = 'Copied'
  setTimeout(() => (button.textContent = 'Copy'), 1500)
}

/** Reads what can be found, once. */
function load() {
  index ??= fetch('/docs/search.json').then((answer) => answer.json())
  return index
}

/** Entries that have every word, those whose name begins with the first one before the others. */
async function show() {
  const words = input.value
    .toLowerCase()
    .split(/[\s_.]+/)
    .filter(Boolean)
  const entries = words.length > 0 ? await load() : []
  const found = entries
    .map((entry) => ({ entry, rank: rankOf(entry, words) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, FOUND_MAX)
  list.replaceChildren(...found.map(({ entry }) => item(entry)))
  if (words.length > 0 && found.length === 0) list.append(empty())
  list.hidden = words.length === 0
}

function rankOf([kind, name, meaning], words) {
  const head = name.toLowerCase()
  const text = `${head} ${meaning.toLowerCase()}`.replaceAll('_', ' ')
  if (!words.every((word) => text.includes(word))) return 0
  const last = head.slice(head.lastIndexOf('.') + 1).replaceAll('_', ' ')
  const phrase = words.join(' ')
  // Of equal matches the field of the object itself comes before those deep inside one or of the second generation.
  const depth = head.split('.').length / 10 + (head.startsWith('grid') ? 0.5 : 0)
  if (last === phrase) return 5 - depth
  if (last.startsWith(phrase)) return 4 - depth
  if (words.every((word) => head.includes(word))) return (kind === 'field' ? 2 : 3) - depth
  return 1
}

function item([kind, name, meaning, address]) {
  const link = document.createElement('a')
  link.href = address
  const parts = [
    ['span', `method ${kind.toLowerCase()}`, kind],
    ['code', '', name],
    ['small', '', meaning],
  ]
  for (const [tag, className, text] of parts) {
    const part = document.createElement(tag)
    part.className = className
    part.textContent = text
    link.append(part, ' ')
  }
  const row = document.createElement('li')
  row.append(link)
  return row
}

function empty() {
  const row = document.createElement('li')
  row.textContent = 'Nothing found.'
  return row
}

/** Arrow keys walk through what was found. */
function move(event) {
  if (list.hidden || !form.contains(document.activeElement)) return
  const links = [...list.querySelectorAll('a')]
  const step = event.key === 'ArrowDown' ? 1 : -1
  const next = links.indexOf(document.activeElement) + step
  event.preventDefault()
  if (next < 0) input.focus()
  else links[Math.min(next, links.length - 1)]?.focus()
}
