// The REST call of the document in the editor, to copy; it never holds the token.
import { useEffect, useState } from 'react';
import { pick, useGraphiQL } from '@graphiql/react';
import { parse } from 'jsonc-parser';
import { post, refusal, useRemembered } from '../gateway.js';

function Copy({ text }) {
  const [note, setNote] = useState('');
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setNote('Copied.');
    } catch {  // a page without https has no clipboard
      setNote('Select the line and copy it.');
    }
  }
  return (
    <p><button type="button" className="gw-button" onClick={copy}>Copy</button> <span role="status">{note}</span></p>
  );
}

// "emails.emails.threadId" without the names that the document writes anyway.
function besides(paths) {
  return paths.map((path) => path.split('.').slice(-1)[0]).join(', ');
}

function Answer({ answer }) {
  if (!answer) return <p>…</p>;
  if (answer.problem) return <p role="alert">{answer.problem}</p>;
  if (!answer.call) {
    return (
      <>
        <p>GraphQL alone can do this: REST has no call for <code>{answer.preventedBy || 'this document'}</code>.</p>
        <p>{answer.message}</p>
      </>
    );
  }
  const { method, path, curl, status } = answer.call;
  const count = answer.also.length;
  return (
    <>
      <p><strong>{method}</strong> <code>{path}</code></p>
      {count === 0
        ? <p>It returns the same.</p>
        : <p>It returns these and {count} more {count === 1 ? 'member' : 'members'}: {besides(answer.also)}.</p>}
      <pre tabIndex={0} aria-label="Command">{curl}</pre>
      <Copy text={curl} />
      <p>A success answers {status}. The shell reads the token from <code>$TOKEN</code>.</p>
    </>
  );
}

function RestPanel() {
  const { token } = useRemembered();
  const { queryEditor, variableEditor, operationName, activeTabIndex } = useGraphiQL(
    pick('queryEditor', 'variableEditor', 'operationName', 'activeTabIndex'),
  );
  const [answer, setAnswer] = useState(null);

  async function translate() {
    setAnswer(null);
    const variables = parse(variableEditor?.getValue() || '{}') ?? {};
    const query = queryEditor?.getValue() ?? '';
    if (!query.trim()) {
      setAnswer({ problem: 'The editor is empty.' });
      return;
    }
    const params = { query, variables, operationName: operationName ?? undefined };
    const { status, body } = await post(token, params, { path: '/rest-of' });
    setAnswer(status === 200 ? body : { problem: refusal(status, body) });
  }

  useEffect(() => {
    if (!queryEditor) return undefined;
    const timer = setTimeout(translate, 300);  // the editor shows a tab some time after it is chosen
    return () => clearTimeout(timer);
  }, [token, activeTabIndex, queryEditor, operationName]);  // the name follows the tab after a while

  return (
    <section className="gw-panel" aria-label="REST call" tabIndex={0}>
      <h2>REST call for this document</h2>
      <Answer answer={answer} />
      <p><button type="button" className="gw-button" onClick={translate}>Translate again</button></p>
    </section>
  );
}

function RestIcon() {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d="M4 8h13m-4-4 4 4-4 4M20 16H7m4-4-4 4 4 4" />
    </svg>
  );
}

export const REST_PLUGIN = { title: 'REST call', icon: RestIcon, content: RestPanel };
