// Below the answer: what the last run of the tab cost, what it hid, and why something was refused.
import { useEffect, useState } from 'react';
import { pick, useGraphiQL } from '@graphiql/react';
import { loadOwnToken, post, refusal, remember, useRemembered } from '../gateway.js';

// A filter on a masked field is refused before its later layers: in the order of the call.
const RANKS = ['passed', 'refused', 'not_reached'];
const WORDS = { passed: 'passed', refused: 'refused', not_reached: 'not reached' };

function Connections({ calls, own }) {
  if (!calls?.length) return null;
  const names = new Map((own?.connections ?? []).map((each) => [each.id, `${each.accountEmail} · ${each.kind}`]));
  return (
    <table>
      <thead><tr><th scope="col">Account</th><th scope="col">Calls</th><th scope="col">Time</th></tr></thead>
      <tbody>
        {calls.map(({ connectionId, calls: count, milliseconds }) => (
          <tr key={connectionId}>
            <td>{names.get(connectionId) ?? `connection ${connectionId}`}</td>
            {count === null ? <td colSpan={2}>not told</td> : <><td>{count}</td><td>{milliseconds} ms</td></>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Hidden({ fields }) {
  const types = Object.entries(fields ?? {}).filter(([, names]) => names.length);
  if (!types.length) return null;
  return <p>Hidden fields: {types.map(([type, names]) => `${type}: ${names.join(', ')}`).join('; ')}.</p>;
}

function inOrder(layers) {
  return RANKS.flatMap((rank) => layers.filter(({ outcome }) => outcome === rank));
}

function Explained({ field }) {
  return (
    <div className="gw-explained">
      <p><strong>{field.key || 'The document'}</strong> · {field.outcome}{field.code && <> · <code>{field.code}</code></>}</p>
      {field.message && <p>{field.message}</p>}
      {field.remedy && <p>{field.remedy}</p>}
      {field.outcome !== 'allowed' && (
        <ol className="gw-layers" aria-label="Layers">
          {inOrder(field.layers).map(({ layer, outcome }) => (
            <li key={layer} data-outcome={outcome}>{layer.replaceAll('_', ' ')}: {WORDS[outcome]}</li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Refusal({ run, token }) {
  const [answer, setAnswer] = useState(null);
  useEffect(() => setAnswer(null), [run]);
  async function explain() {
    const { status, body } = await post(token, run.params, { path: '/explain' });
    setAnswer(status === 200 ? body : { problem: refusal(status, body) });
  }
  return (
    <div className="gw-refusal">
      <p>
        {run.errors.length === 1 ? 'One error.' : `${run.errors.length} errors.`}{' '}
        <button type="button" className="gw-button" onClick={explain}>Why was this refused?</button>
      </p>
      {answer?.problem && <p role="alert">{answer.problem}</p>}
      {answer?.fields?.map((field) => <Explained key={field.key} field={field} />)}
    </div>
  );
}

export function RunPanel() {
  const { token, own, runs } = useRemembered();
  const { tabs, activeTabIndex } = useGraphiQL(pick('tabs', 'activeTabIndex'));
  const tab = tabs[activeTabIndex]?.id ?? '';
  useEffect(() => remember({ tab }), [tab]);
  const run = runs[tab];
  useEffect(() => {
    if (run && token && !own) loadOwnToken(token);
  }, [run, token, own]);
  if (!run) {
    return (
      <section className="gw-run" aria-label="This run">
        <p>Run the document with <kbd>Ctrl</kbd>-<kbd>Enter</kbd> (<kbd>⌘</kbd>-<kbd>Enter</kbd>), or the ▶ button.</p>
      </section>
    );
  }
  const { cost, hiddenFields, requestId, status, errors } = run;
  const facts = [
    `HTTP ${status}`,
    cost && `${cost.charged} charged`,
    cost && cost.remaining !== null && `${cost.remaining} left`,
    cost && `${cost.milliseconds} ms`,
  ].filter(Boolean);
  return (
    <section className="gw-run" aria-label="This run" tabIndex={0}>
      <p className="gw-facts" role="status">{facts.map((fact) => <span key={fact}>{fact}</span>)}</p>
      {errors.length > 0 && <Refusal run={run} token={token} />}
      <Connections calls={cost?.upstreamCalls} own={own} />
      <Hidden fields={hiddenFields} />
      {requestId && <p className="gw-decision">In the decision log: <code>{requestId}</code></p>}
    </section>
  );
}
