import './workers.js';
import { useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { GraphiQL } from 'graphiql';
import { explorerPlugin } from '@graphiql/plugin-explorer';
import { HISTORY_PLUGIN } from '@graphiql/plugin-history';
import 'graphiql/graphiql.css';
import '@graphiql/react/style.css';
import '@graphiql/plugin-doc-explorer/style.css';
import '@graphiql/plugin-history/style.css';
import '@graphiql/plugin-explorer/style.css';
import './app.css';

// The token lives in this tab alone: sessionStorage, never localStorage, never a header pane.
const KEY = 'access-gateway-token';
const NOTE = 'access-gateway-note';
// GraphiQL keeps tabs, variables and history of queries in localStorage under this prefix.
const EDITOR_STORAGE = 'graphiql:';
const endpoint = new URL('../graphql', location.href).href;
const explorer = explorerPlugin();
const plugins = [explorer, HISTORY_PLUGIN];

async function post(token, params, headers) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/graphql-response+json, application/json',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify(params),
  });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    const message = `HTTP ${response.status}: the answer is not JSON.`;
    return { status: response.status, body: { errors: [{ message }] } };
  }
}

function refusal(status, body) {
  const said = body?.message ?? body?.errors?.[0]?.message;
  return said ? `${status}: ${said}` : `The server answered ${status}.`;
}

// What to offer depends on the deployment: a mutation is a starter on the sandbox only.
async function loadStarters() {
  try {
    const response = await fetch('starters.json');
    return await response.json();
  } catch {
    return { sandbox: false, documents: [] };
  }
}

function firstNote() {
  const note = sessionStorage.getItem(NOTE);
  sessionStorage.removeItem(NOTE);
  return note ?? 'The token stays in this tab and is sent to this server only.';
}

function App() {
  const [starters, setStarters] = useState(null);
  const [draft, setDraft] = useState(() => sessionStorage.getItem(KEY) ?? '');
  const [token, setToken] = useState('');
  const [note, setNote] = useState(firstNote);

  useEffect(() => { loadStarters().then(setStarters); }, []);

  async function connect(event) {
    event.preventDefault();
    const value = draft.trim().replace(/^bearer\s+/i, '');
    const { status, body } = await post(value, { query: '{ __typename }' });
    if (status !== 200) {
      setToken('');
      setNote(refusal(status, body));
      return;
    }
    sessionStorage.setItem(KEY, value);
    setToken(value);
    setNote('Connected. Queries and variables are kept in this browser until "Forget", the token only in this tab.');
  }

  function forget() {
    sessionStorage.removeItem(KEY);
    for (const name of Object.keys(localStorage)) {
      if (name.startsWith(EDITOR_STORAGE)) localStorage.removeItem(name);
    }
    sessionStorage.setItem(NOTE, 'Token, queries, variables and history are removed from this browser.');
    location.reload();  // before the editor stores its tabs again, which it does with a delay
  }

  const fetcher = useMemo(
    () => async (params, options) => (await post(token, params, options?.headers)).body,
    [token],
  );

  return (
    <div className="gw">
      <form className="gw-bar" onSubmit={connect}>
        <strong>access-gateway</strong>
        <label htmlFor="gw-token">Access token</label>
        <input
          id="gw-token" type="password" autoComplete="off" spellCheck={false}
          placeholder="agw_…" value={draft} onChange={(event) => setDraft(event.target.value)}
        />
        <button type="submit" disabled={!draft.trim()}>Connect</button>
        {token && <button type="button" className="gw-quiet" onClick={forget}>Forget</button>}
        <span className="gw-note" role="status">{note}</span>
        <a className="gw-docs" href="../docs/">REST reference</a>
      </form>
      <div className="gw-main">
        {token && starters ? (
          <GraphiQL
            key={token} fetcher={fetcher} plugins={plugins} visiblePlugin={explorer}
            shouldPersistHeaders={false} defaultEditorToolsVisibility="variables"
            defaultTabs={starters.documents.map((query) => ({ query }))}
          />
        ) : (
          <p className="gw-empty">
            {'Paste an access token above. '}
            {starters?.sandbox
              ? <><code>./run demo</code>{' prints one for each profile.'}</>
              : <><code>access-gateway token create</code>{' or an administrator makes one.'}</>}
          </p>
        )}
      </div>
    </div>
  );
}

createRoot(document.getElementById('root')).render(<App />);
