import './workers.js';
import { useMemo, useState } from 'react';
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
import { starters } from './starters.js';

// The token lives in this tab alone: sessionStorage, never localStorage, never a header pane.
const KEY = 'access-gateway-token';
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

function App() {
  const [draft, setDraft] = useState(() => sessionStorage.getItem(KEY) ?? '');
  const [token, setToken] = useState('');
  const [note, setNote] = useState('The token stays in this tab and is sent to this server only.');

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
    setNote('Connected. Query texts are kept in this browser, the token only in this tab.');
  }

  function forget() {
    sessionStorage.removeItem(KEY);
    setDraft('');
    setToken('');
    setNote('Forgotten.');
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
        {token ? (
          <GraphiQL
            key={token} fetcher={fetcher} plugins={plugins} visiblePlugin={explorer}
            shouldPersistHeaders={false} defaultEditorToolsVisibility="variables"
            defaultTabs={starters}
          />
        ) : (
          <p className="gw-empty">Paste an access token above. `./run demo` prints four of them.</p>
        )}
      </div>
    </div>
  );
}

createRoot(document.getElementById('root')).render(<App />);
