// Opens the document of a REST call in a tab of the explorer: open.html#operation=ListEmails&variables={…}
// or the explorer with a token, for which the console makes a link: open.html#token=agw_…
// GraphiQL reads its tabs from localStorage when it starts. The fragment never reaches a server.
const TABS = 'graphiql:tabState';

async function json(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.json();
}

// Browsers have randomUUID over https and on this machine alone.
function tabId() {
  return crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
}

function tab(title, query, variables) {
  return { id: tabId(), hash: null, title, query, variables, headers: null, operationName: title, response: null };
}

function nameOf(document) {
  return /^\s*(?:query|mutation)\s+(\w+)/m.exec(document)?.[1] ?? null;
}

async function firstTabs() {
  const { documents } = await json('starters.json');
  return documents.map((query) => tab(nameOf(query), query, null));
}

function storedTabs() {
  try {
    const { tabs } = JSON.parse(localStorage.getItem(TABS));
    return Array.isArray(tabs) ? tabs : null;
  } catch {
    return null;
  }
}

async function open() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const token = wanted.get('token');
  if (token) {
    history.replaceState(null, '', 'open.html'); // so that no history has it
    sessionStorage.setItem('access-gateway-token', token);
    location.replace('./');
    return;
  }
  const operation = (await json('operations.json'))[wanted.get('operation')];
  if (!operation) throw new Error('There is no such operation.');
  const variables = JSON.stringify(JSON.parse(wanted.get('variables') ?? 'null') ?? operation.variables, null, 2);
  const tabs = [tab(wanted.get('operation'), operation.document, variables), ...(storedTabs() ?? (await firstTabs()))];
  localStorage.setItem('graphiql:query', operation.document);
  localStorage.setItem('graphiql:variables', variables);
  localStorage.setItem(TABS, JSON.stringify({ tabs, activeTabIndex: 0 }));
  sessionStorage.setItem('access-gateway-opened', wanted.get('operation'));
  location.replace('./');
}

open().catch((problem) => {
  document.getElementById('note').textContent = `The document cannot be opened: ${problem.message}`;
});
