import './workers.js';
import { useEffect, useMemo, useRef, useState } from 'react';
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
import { Empty } from './empty.jsx';
import { ABSENT, isAdminToken, limitsOf, loadStarters, operationOf, post, refusal, remember, rememberRun } from './gateway.js';
import { markMaskedFields } from './masked.js';
import { REST_PLUGIN } from './panels/rest.jsx';
import { RunPanel } from './panels/run.jsx';
import { TOKEN_PLUGIN } from './panels/token.jsx';

// The token lives in this tab alone: sessionStorage, never localStorage, never a header pane.
const KEY = 'access-gateway-token';
const ADMIN = 'This is the admin token, which reads no data. Make an access token with "access-gateway token create".';
const NOTE = 'access-gateway-note';
// GraphiQL keeps tabs, variables and history of queries in localStorage under this prefix.
const EDITOR_STORAGE = 'graphiql:';
const explorer = explorerPlugin();
const plugins = [explorer, TOKEN_PLUGIN, REST_PLUGIN, HISTORY_PLUGIN];
const INTROSPECTION = 'IntrospectionQuery';
const PROBE = { query: '{ __typename }' };
const PROBE_INTERVAL = 2000;  // milliseconds
const LOST = 'The gateway does not answer. Waiting for it …';
const CONNECTED = 'Connected.';
const FORGET = 'Remove the token, queries, variables and history from this browser';

function firstNote() {
  const note = sessionStorage.getItem(NOTE);
  sessionStorage.removeItem(NOTE);
  return note ?? '';
}

function runOf(params, status, headers, body) {
  const access = body.extensions?.access ?? {};
  return {
    params: { query: params.query, variables: params.variables, operationName: params.operationName },
    status,
    cost: access.cost,
    hiddenFields: access.hiddenFields,
    errors: body.errors ?? [],
    requestId: headers.get('x-request-id'),
    limits: limitsOf(headers),
  };
}

function removeStored() {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith(EDITOR_STORAGE)) localStorage.removeItem(name);
  }
}

function App() {
  const [starters, setStarters] = useState(null);
  const [draft, setDraft] = useState(() => sessionStorage.getItem(KEY) ?? '');
  const [token, setToken] = useState('');
  const [note, setNote] = useState(firstNote);
  const [failed, setFailed] = useState(false);
  const main = useRef(null);
  const [waiting, setWaiting] = useState('');  // the token to connect with when the gateway answers

  function show(text, isFailure) {
    setNote(text);
    setFailed(isFailure);
  }

  async function connectWith(value) {
    const { status, body } = await post(value, PROBE);
    setWaiting(ABSENT.has(status) ? value : '');
    if (ABSENT.has(status)) {
      show(LOST, true);
    } else if (status === 200) {
      sessionStorage.setItem(KEY, value);
      sessionStorage.removeItem('access-gateway-opened');
      remember({ token: value, own: null, runs: {} });
      setToken(value);
      show(CONNECTED, false);
    } else {
      setToken('');
      show(status === 401 && await isAdminToken(value) ? ADMIN : refusal(status, body), true);
    }
  }

  function connect(event) {
    event.preventDefault();
    connectWith(draft.trim().replace(/^bearer\s+/i, ''));
  }

  function offer(value) {
    setDraft(value);
    connectWith(value);
  }

  useEffect(() => {
    loadStarters().then((loaded) => {
      remember({ products: loaded.products });
      setStarters(loaded);
    });
    const kept = sessionStorage.getItem(KEY);
    if (kept) connectWith(kept);
  }, []);

  useEffect(() => {
    if (!waiting) return undefined;
    const timer = setInterval(() => connectWith(waiting), PROBE_INTERVAL);
    return () => clearInterval(timer);
  }, [waiting]);

  function forget() {
    sessionStorage.removeItem(KEY);
    removeStored();
    sessionStorage.setItem(NOTE, 'Token, queries, variables and history are removed from this browser.');
    addEventListener('pagehide', removeStored);  // the editor stores its tabs again, with a delay
    location.reload();
  }

  const fetcher = useMemo(
    () => async (params, options) => {
      const own = options?.headers ?? {};
      const prefer = [own.prefer ?? own.Prefer, 'cost'].filter(Boolean).join(', ');
      const { Prefer: _, ...headers } = { ...own, prefer };
      const { status, headers: answered, body } = await post(token, params, { headers });
      if (ABSENT.has(status)) {
        show(LOST, true);
        setWaiting(token);
      }
      if (params.operationName !== INTROSPECTION) rememberRun(runOf(params, status, answered, body));
      return body;
    },
    [token],
  );

  useEffect(() => markMaskedFields(main.current), []);

  // The button that connected is gone with the start page; keyboards go on from here.
  useEffect(() => {
    if (token && starters && document.activeElement === document.body) main.current.focus();
  }, [token, starters]);

  return (
    <div className="gw">
      <header className="gw-bar">
        <h1>access-gateway</h1>
        <a className="gw-docs" href="../docs/">REST reference</a>
        <form onSubmit={connect}>
          <label htmlFor="gw-token">Access token</label>
          <input
            id="gw-token" type="password" autoComplete="off" spellCheck={false}
            placeholder="agw_…" value={draft} onChange={(event) => setDraft(event.target.value)}
          />
          <button type="submit" disabled={!draft.trim()}>Connect</button>
          {token && <button type="button" className="gw-quiet" title={FORGET} onClick={forget}>Forget</button>}
        </form>
        <span className={failed ? 'gw-note gw-failed' : 'gw-note'} role={failed ? 'alert' : 'status'}>{note}</span>
      </header>
      <main className="gw-main" ref={main} tabIndex={-1} aria-label="Explorer">
        {token && starters ? (
          <GraphiQL
            key={token} fetcher={fetcher} plugins={plugins}
            shouldPersistHeaders={false} defaultEditorToolsVisibility="variables"
            defaultTabs={starters.documents.map((query) => ({ query, title: operationOf(query), operationName: operationOf(query) }))}
          >
            <GraphiQL.Footer><RunPanel /></GraphiQL.Footer>
          </GraphiQL>
        ) : (
          <Empty starters={starters} connect={offer} />
        )}
      </main>
    </div>
  );
}

createRoot(document.getElementById('root')).render(<App />);
